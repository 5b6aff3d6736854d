"""Describe the shapes that a reference returns, in terms of the sizes of its exercise."""

import textwrap
from collections.abc import Sequence
from itertools import permutations
from operator import add
from typing import Any

from msgspec import Struct

from grader.author.sizes import FixedSizes
from grader.spec.problem import blank, listed

NO_FORMULA = (
    "{new} depends on {names}, but no range can express it: it is no multiple, quotient or sum of sizes. So write "
    "numbers into each random size case, with the length that the reference returns there. Or write another size in "
    "place of {new}, keep the ranges, and remove returns_shapes and each check that fails with failed:shape."
)
"""The remedy for a size whose random values cannot be derived from those of other sizes."""

REMARK_WIDTH = 76
"""The columns of a comment: a page wraps longer lines, so that they cannot be pasted."""


class Correction(Struct, frozen=True, kw_only=True):
    """The `outputs` of a description as its reference returns them, and `sizes` if an output needs a new size."""

    outputs: list[list[str]]
    sizes: list[dict[str, Any]] = []
    remarks: list[str] = []
    """Comments on sizes that only the author can write; these are blanks in `sizes`."""

    def text(self) -> str:
        """Return the lines of YAML to write into the description."""
        lines = ["  outputs:", *(f"    - {_flow(shape)}" for shape in self.outputs)]
        if self.sizes:
            lines += [*self.remarks, "sizes:", *(f"  - {_flow(size_case)}" for size_case in self.sizes)]
        return "\n".join(lines)


def describe_shapes(
    shapes: Sequence[Sequence[tuple[int, ...]]], fixed_sizes: FixedSizes, random_sizes: Sequence[dict[str, Any]]
) -> Correction:
    """Return the description of outputs of these shapes.

    A random size case leaves a blank for a new size that cannot be derived from other sizes.
    """
    size_cases, above = [dict(size_case) for size_case in fixed_sizes], [dict(size_case) for size_case in random_sizes]
    outputs, remarks = list[list[str]](), list[str]()
    for index in range(len(shapes[0])):
        axes = zip(*(each[index] for each in shapes), strict=True)
        outputs.append([_named_axis(axis, size_cases, above, remarks) for axis in axes])
    sizes = [*size_cases, *above] if size_cases != fixed_sizes else []
    return Correction(outputs=outputs, sizes=sizes, remarks=remarks)


def _flow(part: dict[str, Any] | list[str]) -> str:
    return str(part).replace("'", "")


def _named_axis(
    lengths: tuple[int, ...], size_cases: FixedSizes, above: list[dict[str, Any]], remarks: list[str]
) -> str:
    """Return the name of the size that the axis has in every size case, or its length if the length is constant.

    If there is no such size, add a new one to the size cases and return its name. If the new size cannot be derived
    from others, add a comment to `remarks`.
    """
    known = {name: tuple(size_case[name] for size_case in size_cases) for name in size_cases[0]}
    same = next((name for name, values in known.items() if values == lengths), "")
    if same or len({*lengths}) == 1:
        return same or str(lengths[0])
    new = _made_of(lengths, known, above) or _underived(lengths, known, above, remarks)
    for size_case, length in zip(size_cases, lengths, strict=True):
        size_case[new] = length
    return new


def _made_of(lengths: tuple[int, ...], known: dict[str, tuple[int, ...]], above: list[dict[str, Any]]) -> str:
    """Return the name of a new size: a multiple, a quotient or a sum of known sizes; empty if none fits.

    The new size is added to the random size cases `above`.
    """
    for name, values in known.items():
        factors = {length / value for length, value in zip(lengths, values, strict=True)}
        if len(factors) == 1 and (factor := factors.pop()).is_integer():
            for size_case in above:
                size_case[f"{name}_times_{factor:.0f}"] = [name, int(factor), int(factor)]
            return f"{name}_times_{factor:.0f}"
    for (one, ours), (other, theirs) in permutations(known.items(), 2):
        if ours == tuple(length * value for length, value in zip(lengths, theirs, strict=True)):
            for size_case in above:
                most, divisor = _pinned(size_case, one), _pinned(size_case, other)
                size_case[f"{one}_over_{other}"] = quotient = max(most // divisor, 1)
                size_case[one] = quotient * divisor
            return f"{one}_over_{other}"
        if lengths == tuple(map(add, ours, theirs)):
            for size_case in above:
                size_case[f"{one}_plus_{other}"] = _pinned(size_case, one) + _pinned(size_case, other)
            return f"{one}_plus_{other}"
    return ""


def _underived(
    lengths: tuple[int, ...], known: dict[str, tuple[int, ...]], above: list[dict[str, Any]], remarks: list[str]
) -> str:
    """Return the name of a new size that cannot be derived; it is a blank in the random size cases `above`.

    The sizes on which it depends become numbers there, and a comment in `remarks` says why.
    """
    new, deciding = f"length_{len(known)}", _deciding(lengths, known)
    for size_case in above:
        for name in deciding:
            _pinned(size_case, name)
        size_case[new] = blank("its number")
    if above:
        remark = NO_FORMULA.format(new=new, names=listed(deciding, "or"))
        remarks += [f"# {line}" for line in textwrap.wrap(remark, REMARK_WIDTH, break_on_hyphens=False)]
    return new


def _deciding(lengths: tuple[int, ...], known: dict[str, tuple[int, ...]]) -> list[str]:
    """Return the sizes that may determine the lengths: each alone, or else all together."""
    alone = [name for name, values in known.items() if len({*zip(values, lengths, strict=True)}) == len({*values})]
    return alone or [*known]


def _pinned(size_case: dict[str, Any], name: str) -> int:
    """Replace a random size by its smallest value, and return that value."""
    match size_case[name]:
        case [str(other), least, _]:
            size_case[name] = least * _pinned(size_case, other)
        case [least, _]:
            size_case[name] = least
    return int(size_case[name])
