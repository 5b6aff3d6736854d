"""What a submission offers: a kind of class or function, and how it is built and called."""

from msgspec import field

from grader.spec.fields import Arguments, Inputs, Name, Record, Shape
from grader.spec.kinds import KINDS, USUAL_KIND, Kind, KindName


class Interface(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a submission must offer: a class or function, how it is built, what goes in, what comes out."""

    constructor: Arguments
    """What the class is built with, by keyword; the name of a size stands for that size. A function gets it too."""
    inputs: Inputs
    """What is passed to forward, by keyword: a shape means a Gaussian tensor, masks and integers are made."""
    outputs: list[Shape]
    """The shapes of the tensors that forward returns, in order, of a dictionary by sorted key; `[]` is a number."""
    kind_name: KindName = field(name="kind", default=USUAL_KIND)
    """What it is."""
    class_name: Name = field(name="class", default="")
    """The class's name."""
    function: Name = ""
    """The function's name, where it is one."""

    @property
    def kind(self) -> Kind:
        """The kind of subject."""
        return KINDS[self.kind_name]

    def entry(self) -> str:
        """The name of what a submission must define."""
        return self.function or self.class_name

    def called(self) -> str:
        """What findings say is called."""
        return self.kind.called(self.class_name, self.function)

    keyword_only: bool = False
    """Whether forward takes its inputs by keyword alone; otherwise by position too, in the order of `inputs`."""
