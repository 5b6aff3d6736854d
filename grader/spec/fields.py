"""The types of an exercise.yaml's fields: texts, names, sizes, shapes, inputs."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

TEXT = r"\S"
NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
LINK = r"^https?://\S+$"
LICENSE = r"^([A-Z0-9][A-Za-z0-9.+-]*|not stated|not looked up \(.+\))$"

PATTERNS = {
    TEXT: "text",
    NAME: "a name of letters, digits and underscores",
    ID: "a name of letters, digits, - and _",
    LINK: "a link that begins with https://",
    LICENSE: 'an SPDX identifier, "not stated" or "not looked up (why)"',
}
"""A description of each pattern for error messages."""

MAX_SECONDS = 86_400
"""A day."""

Text = Annotated[str, Meta(pattern=TEXT)]
Name = Annotated[str, Meta(pattern=NAME)]
Id = Annotated[str, Meta(pattern=ID)]
Fragments = Annotated[str, Meta(min_length=1)] | list[Text]
"""One fragment or several. A pattern here would make msgspec 0.22 corrupt memory, because a list is allowed too."""

Link = Annotated[str, Meta(pattern=LINK)]
License = Annotated[str, Meta(pattern=LICENSE)]
Size = Annotated[int, Meta(ge=1)]
Index = Annotated[int, Meta(ge=0)]
Points = Annotated[float, Meta(gt=0, le=1000)]
Duration = Annotated[float, Meta(gt=0, le=MAX_SECONDS)]

Literal = bool | int | float | str | None
Shape = Annotated[list[Name | Size], Meta(max_length=8)]
Arguments = Annotated[dict[Name, Literal], Meta(max_length=32)]
Sizes = Annotated[dict[Name, Size], Meta(max_length=16)]
FixedSizes = Annotated[list[Sizes], Meta(max_length=32)]
Range = Annotated[list[Name | Size], Meta(min_length=2, max_length=3)]
"""A random size: `[2, 6]` is a number from 2 to 6, and `[num_heads, 3, 7]` is 3 to 7 times the size `num_heads`."""

SizeCase = Annotated[dict[Name, Size | Range], Meta(max_length=16)]
SizeCases = Annotated[list[SizeCase], Meta(max_length=48)]
"""Size cases from the smallest to the largest. The first case with a range and all cases after it are random."""


class MaskKind(StrEnum):
    """Which keys a mask hides."""

    CAUSAL = "causal"
    RANDOM = "random"
    PADDING = "padding"
    DEAD_ROW = "dead_row"


class MadeInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tensor that is not plainly Gaussian: a mask, integers, uniform numbers (`between`), or one with `zeros`."""

    shape: Shape
    """Its shape."""
    mask: MaskKind | None = None
    """The kind of a mask. Masks are true where a query may attend to a key."""
    axes: tuple[int, int] = (-2, -1)
    """The axes of a mask's queries and keys."""
    integers: bool | int | str = False
    """Integers below this bound, a number or the name of a size. `true` makes a mask of ones and zeros."""
    start: int = 0
    """The smallest of the integers."""
    inclusive: bool = False
    """Whether the bound itself may occur, as for the lengths of texts with up to `tokens` tokens."""
    ignored: int | None = None
    """An integer that replaces a quarter of the values, such as -100 for labels that a loss ignores."""
    between: tuple[float, float] | None = None
    """Uniform numbers between these two."""
    zeros: str = ""
    """The name of an axis. The tensor is Gaussian, with zeros at the second place of this axis: a token of zeros."""

    def is_mask(self) -> bool:
        """Return whether the tensor is a mask."""
        return self.mask is not None


Inputs = Annotated[dict[Name, Shape | MadeInput | Literal], Meta(max_length=32)]


def as_list(part: str | list[str]) -> list[str]:
    """Return the fragments in a key that takes one or a list of them."""
    return [part] if isinstance(part, str) else part


def size_names(fixed_sizes: FixedSizes) -> set[str]:
    """Return the names of the sizes in any of the size cases."""
    return {name for size_case in fixed_sizes for name in size_case}


def names_in(spec: Any) -> set[str]:
    """Return the names of sizes in a shape, a `MadeInput` or a constructor's value."""
    shape = [*spec.shape, spec.integers] if isinstance(spec, MadeInput) else spec if isinstance(spec, list) else [spec]
    return {name for name in shape if isinstance(name, str)}


def shape_of(spec: Any) -> list[Any]:
    """Return the shape of an input; empty for a plain value."""
    return spec if isinstance(spec, list) else spec.shape if isinstance(spec, MadeInput) else []


def size_of(value: str | int, sizes: dict[str, int]) -> int:
    """Return the size of a name, or the number itself."""
    return sizes[value] if isinstance(value, str) else value


def largest_sizes(size_case: dict[str, Any]) -> dict[str, int]:
    """Return the largest sizes of a random size case: the upper ends of its ranges, times the size that each names."""
    ends = {name: size[-1] if isinstance(size, list) else size for name, size in size_case.items()}
    factors = {name: size[0] for name, size in size_case.items() if isinstance(size, list) and isinstance(size[0], str)}
    return {name: end * ends.get(factors[name], 1) if name in factors else end for name, end in ends.items()}


def sizes_of(shape: Shape, sizes: dict[str, int]) -> list[int]:
    """Return a shape as numbers, given the size of each name."""
    return [size_of(size, sizes) for size in shape]


class Record(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of an exercise.yaml. Unknown keys are errors."""

    DISPLAY_ONLY: ClassVar[tuple[str, ...]] = ()
    """The fields that outcomes do not depend on: texts, and points, from which the score is computed later."""
