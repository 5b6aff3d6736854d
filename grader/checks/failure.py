"""What a check raises: a failure with its finding, and the comparison that failed."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from msgspec import Struct, structs

from grader.checks.outcome import FailureKind, Finding, parse_kind
from grader.sandbox.text import as_index
from grader.spec.kinds import Part


class Relation(StrEnum):
    """How two compared values should be related."""

    CLOSE = "close"
    DIFFERENT = "different"
    UNCHANGED = "unchanged"  # equal at some places of one axis
    CHANGED = "changed"  # different from some place of one axis on
    SHAPE = "shape"
    DTYPE = "dtype"
    FINITE = "finite"
    GRADIENT = "gradient"  # the parameter or the input `name` gets a gradient
    PARAMETERS = "parameters"  # names and shapes of the module's parameters
    CODE = "code"  # `code` holds


class Comparison(Struct, frozen=True, kw_only=True):
    """The comparison that failed, with the values themselves, so that `try` can repeat it.

    `expected` is a tensor, a shape, a dtype or a dictionary of shapes. UNCHANGED and CHANGED compare `observed` with
    `expected` at `places` of an axis, after one place of an input changed; `name` and `changed` are words for these
    places. With `is_exact`, PARAMETERS allows no other parameters.
    """

    relation: Relation
    observed: Any = None
    expected: Any = None
    relative: float = 0.0
    absolute: float = 0.0
    axis: int = 0
    places: list[int] = []
    name: str = ""
    is_input: bool = False
    changed: str = ""
    is_exact: bool = True
    code: str = ""


UNNAMED_AXES = {0: (), 1: ("element",), 2: ("row", "column")}
"""Words for the axes of vectors and matrices whose axes the interface does not name."""


class Compared(Struct, frozen=True, kw_only=True):
    """The subject of a comparison: what the check did, and which result it compares."""

    action: str = ""
    item: str = "output"
    axes: tuple[tuple[str, ...], ...] | None = None
    """The names of the axes of each compared tensor; empty if they have none.

    Default: those of the interface's outputs, if `item` is an output.
    """
    first_axis: str = ""
    """The name of the first axis of a tensor whose other axes have no names."""

    def part(self, index: int, parts: Sequence[Part] = ()) -> "Compared":
        """Return the comparison of one of several values, which is named, or numbered if it has no name."""
        part = parts[index] if parts else Part(name=f"{self.item} {index}")
        axes = self._named_axes()[index : index + 1]
        return structs.replace(self, item=part.name, axes=axes, first_axis=part.first_axis)

    def place(self, index: list[int]) -> str:
        """Return an index in words, such as "token 2, feature 0", or "row 2, column 0" if the axes have no names."""
        first = (self.first_axis,) if self.first_axis else ()
        names = self.axis_names(len(index)) or (*first, *UNNAMED_AXES.get(len(index) - len(first), ()))
        if len(names) != len(index):
            return f"index {as_index(index)}"
        return ", ".join(f"{singular(name)} {number}" for name, number in zip(names, index, strict=True))

    def axis_names(self, count: int) -> tuple[str, ...]:
        """Return the names of the axes of a tensor with so many axes; none if they are not known."""
        axes = self._named_axes()
        return axes[0] if len(axes) == 1 and len(axes[0]) == count else ()

    def _named_axes(self) -> tuple[tuple[str, ...], ...]:
        if self.axes is not None:
            return self.axes
        return _output_axes.get() if OUTPUT.search(self.item) else ()


OUTPUT = re.compile(r"\boutput\b")
"""The word for a returned value in the names of compared items, hidden tests' own names among them."""

_output_axes: ContextVar[tuple[tuple[str, ...], ...]] = ContextVar("output_axes", default=())


@contextmanager
def naming_output_axes(axes: tuple[tuple[str, ...], ...]) -> Iterator[None]:
    """Name the axes of outputs in the findings of the block."""
    token = _output_axes.set(axes)
    try:
        yield
    finally:
        _output_axes.reset(token)


def singular(name: str) -> str:
    """Return a word for one place along an axis with this name."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name[:-1] if name.endswith("s") and not name.endswith(("ss", "os", "us", "is")) else name


@dataclass(frozen=True, kw_only=True)
class WrongElement:
    """The element that is furthest off: its tensor and its index."""

    tensor: torch.Tensor
    index: list[int]


class Failure(AssertionError):  # noqa: N818 - hidden checks raise it like an assertion
    """A property does not hold.

    A hidden check raises `Failure("its-own-kind", "a sentence")`; the kit's own checks pass other `fields` of the
    finding.

    `deviation` is compared with that of variants: a tensor of differences in units of the tolerance, a shape, or a set
    of names; None if the kind suffices. `compared` identifies the compared values, for pictures, and sets the finding's
    `action` and `item`. `wrong` is the element that is furthest off. `comparison` is the comparison that failed. A
    hidden check passes `code` instead: the comparison as an expression of Python, in which `outs` is the list of values
    that the submission's calls returned.
    """

    def __init__(
        self,
        kind: FailureKind | str,
        message: str = "",
        *,
        deviation: Any = None,
        compared: Compared | None = None,
        wrong: WrongElement | None = None,
        comparison: Comparison | None = None,
        code: str = "",
        **fields: Any,
    ) -> None:
        kind, detail = parse_kind(kind)
        if compared is not None:
            fields |= {"action": compared.action, "item": compared.item}
        self.finding = Finding(kind=kind, detail=detail, message=message, **fields)
        self.deviation = deviation
        self.compared = compared
        self.wrong = wrong
        self.comparison = Comparison(relation=Relation.CODE, code=code) if code else comparison

    def __str__(self) -> str:
        return str(self.finding)

    def change(self, **fields: Any) -> None:
        """Replace fields of the finding."""
        self.finding = structs.replace(self.finding, **fields)


@contextmanager
def extreme_numbers(*, are_used: bool = True) -> Iterator[None]:
    """Note in each `Failure` of the block that inputs are unusually large, or of a dtype with few digits."""
    try:
        yield
    except Failure as failure:
        failure.change(has_extreme_numbers=are_used)
        raise


class Advice(UserWarning):
    """Advice without an effect on the score: `warnings.warn(Advice(text))` shows it and does not fail the check."""
