"""The types of a description's fields: texts, names, sizes, shapes, made inputs."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

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
FixedSizes = Annotated[list[Sizes], Meta(max_length=32)]
Range = Annotated[list[Name | Size], Meta(min_length=2, max_length=3)]
"""A random size: between two numbers, or a multiple of another size, as in `[2, 6]` and `[num_heads, 3, 7]`."""

SizeCase = Annotated[dict[Name, Size | Range], Meta(max_length=16)]
SizeCases = Annotated[list[SizeCase], Meta(max_length=48)]
"""Fixed sizes from the smallest up. From the first size case with a range on, the cases are the random ones."""


class MaskKind(StrEnum):
    """What a made mask hides."""

    CAUSAL = "causal"
    RANDOM = "random"
    PADDING = "padding"
    DEAD_ROW = "dead_row"


class MadeInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
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
    inclusive: bool = False
    """Whether `integers` itself occurs too, as in lengths of texts of which one is as long as there are tokens."""
    ignored: int | None = None
    """A whole number that stands in some of the places besides, such as -100 for labels that do not count."""
    between: tuple[float, float] | None = None
    """Numbers drawn evenly between these two."""

    def is_mask(self) -> bool:
        return self.mask is not None


Inputs = Annotated[dict[Name, Shape | MadeInput | Literal], Meta(max_length=32)]


def size_names(fixed_sizes: FixedSizes) -> set[str]:
    """The names that some size case gives."""
    return {name for size_case in fixed_sizes for name in size_case}


def names_in(spec: Any) -> set[str]:
    """The names of sizes in a shape, a mask or a constructor's value."""
    shape = [*spec.shape, spec.integers] if isinstance(spec, MadeInput) else spec if isinstance(spec, list) else [spec]
    return {name for name in shape if isinstance(name, str)}


def shape_of(spec: Any) -> list[Any]:
    """Return the shape of an input; empty for a plain value."""
    return spec if isinstance(spec, list) else spec.shape if isinstance(spec, MadeInput) else []


def size_of(value: str | int, sizes: dict[str, int]) -> int:
    """A size by its name, or as it stands."""
    return sizes[value] if isinstance(value, str) else value


def sizes_of(shape: Shape, sizes: dict[str, int]) -> list[int]:
    """Return the numbers that a shape's sizes stand for."""
    return [size_of(size, sizes) for size in shape]


class Record(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of an exercise's description; unknown keys are refused."""

    ONLY_SHOWN: ClassVar[tuple[str, ...]] = ()
    """The fields that no verdict depends on: what is told, and points, which are added up from outcomes."""
