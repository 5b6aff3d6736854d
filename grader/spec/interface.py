"""The interface of an exercise: the class or function of a submission, and how it is built and called."""

from typing import Annotated

from msgspec import Meta, field

from grader.spec.fields import Arguments, Inputs, Name, Record, Shape
from grader.spec.kinds import KINDS, USUAL_KIND, Kind, KindName


class Interface(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a submission must offer: a class or function with its arguments, inputs and outputs."""

    constructor: Arguments
    """Keyword arguments of the class or function. The name of a size stands for that size."""
    inputs: Inputs
    """Keyword arguments of the call. A shape stands for a Gaussian tensor; masks and integers are mappings."""
    outputs: list[Shape]
    """The shapes of the returned tensors, in order or by sorted key. `[]` is the shape of a number."""
    kind_name: KindName = field(name="kind", default=USUAL_KIND)
    """The kind of subject."""
    class_name: Name = field(name="class", default="")
    """The class's name."""
    function: Name = ""
    """The function's name, if the subject is a function."""

    @property
    def kind(self) -> Kind:
        """The kind of subject."""
        return KINDS[self.kind_name]

    def entry(self) -> str:
        """Return the name of the class or function that a submission must define."""
        return self.function or self.class_name

    def called(self) -> str:
        """Return the name that findings use for what is called."""
        return self.kind.called(self.class_name, self.function)

    keyword_only: bool = False
    """Whether forward accepts its inputs only by keyword. Otherwise also by position, in the order of `inputs`."""
    constructor_keyword_only: bool = False
    """Whether the arguments in `constructor` are accepted only by keyword. Otherwise also by position, in their order.
    """
    trains_after_inference: bool = True
    """Whether a module that was first called under inference_mode must record gradients afterwards."""
    largest_input: Annotated[float, Meta(ge=300)] | None = None
    """The largest absolute value that the inputs may have, as the exercise's README says. Default: any. Some
    calling variants need 300.
    """
