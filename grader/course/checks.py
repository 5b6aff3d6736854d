"""What every check that YAML names may be given; each property adds its own arguments (`examiner/properties/`)."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct, field

TEXT = r"\S"
NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
LINK = r"^https?://\S+$"

PATTERNS = {
    TEXT: "text",
    NAME: "a name of letters, digits and underscores",
    ID: "a name of letters, digits, - and _",
    LINK: "a link that begins with https://",
}
"""What each pattern asks for, in words."""

LONGEST = 86_400
"""A day, in seconds."""

Text = Annotated[str, Meta(pattern=TEXT)]
Name = Annotated[str, Meta(pattern=NAME)]
Id = Annotated[str, Meta(pattern=ID)]
Fragments = Annotated[str, Meta(min_length=1)] | list[Text]
"""One fragment or several. msgspec 0.22 corrupts memory where a string with a pattern and a list are alternatives."""

Link = Annotated[str, Meta(pattern=LINK)]
Size = Annotated[int, Meta(ge=1)]
Index = Annotated[int, Meta(ge=0)]
Points = Annotated[float, Meta(gt=0, le=1000)]
Duration = Annotated[float, Meta(gt=0, le=LONGEST)]

Literal = bool | int | float | str | None
Shape = Annotated[list[Name | Size], Meta(max_length=8)]
Arguments = Annotated[dict[Name, Literal], Meta(max_length=32)]
Sizes = Annotated[dict[Name, Size], Meta(max_length=16)]
Ladder = Annotated[list[Sizes], Meta(max_length=32)]
Range = Annotated[list[Name | Size], Meta(min_length=2, max_length=3)]
"""From a number to another, or a size times such a number: `[2, 6]`, `[num_heads, 3, 7]`."""

Drawn = Annotated[list[Annotated[dict[Name, Size | Range], Meta(max_length=16)]], Meta(max_length=16)]


class MaskKind(StrEnum):
    """What a made mask hides."""

    CAUSAL = "causal"
    RANDOM = "random"
    PADDING = "padding"
    DEAD_ROW = "dead_row"


class MadeInput(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tensor that is not Gaussian: a mask, whole numbers (`integers`), or numbers within bounds (`between`)."""

    shape: Shape
    """Its shape."""
    mask: MaskKind | None = None
    """A mask, true where a query may look at a key: what it hides."""
    axes: tuple[int, int] = (-2, -1)
    """The axes of a mask's queries and keys."""
    integers: bool | int | str = False
    """Whole numbers below this one, a size or a number; `true` for a mask of ones and zeros."""
    start: int = 0
    """The smallest of the whole numbers."""
    ignored: int | None = None
    """A whole number that stands in some of the places besides, such as -100 for labels that do not count."""
    between: tuple[float, float] | None = None
    """Numbers drawn evenly between these two."""

    def is_mask(self) -> bool:
        return self.mask is not None


Inputs = Annotated[dict[Name, Shape | MadeInput | Literal], Meta(max_length=32)]


class Check(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    tag_field="property",
    omit_defaults=True,  # some would not pass for what may be given, and are not when it is remembered
):
    """What every property takes."""

    id: Id = ""
    """Names the check in verdicts; the property's name unless given."""
    constructor: Arguments = {}
    """Added to the interface's, or in place of them."""
    inputs: Inputs = {}
    """Added to the interface's, or in place of them; for a `method`, all there are."""
    ladder: Ladder = []
    """Walked in place of the exercise's."""
    method: Name = ""
    """Called in place of the module."""
    training: bool = False
    """Whether the module is left in training mode."""
    defaults: tuple[Name, ...] = ()
    """The constructor's arguments that are left out, so that their defaults count."""
    for_: tuple[Id, ...] = field(default=(), name="for")
    """The only defects that it may see when they stand alone; any unless given."""
    public: bool = False
    """Whether a student edition may run it, where it needs no reference."""
