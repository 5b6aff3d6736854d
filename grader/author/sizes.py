"""Sizes of a new description: the meaning of a keyword by its name, fixed size cases, and random ones."""

import re
from collections.abc import Collection, Sequence
from enum import Enum
from itertools import permutations
from operator import add
from typing import Any

from msgspec import Struct

from grader.spec.kinds import Kind

FixedSizes = list[dict[str, int]]
Range = int | Sequence[str | int]


class Values(Struct, frozen=True, kw_only=True):
    """What a size is: in the three fixed size cases of what is no module, and in the random ones (see `ANY`)."""

    fixed: tuple[int, int, int] = (1, 5, 5)
    random: tuple[Range, Range, Range, Range]


class Role(Enum):
    """The meaning of a constructor's keyword, by a pattern for its name; the first match counts."""

    DROPOUT = r"drop|^p$"
    FLAG = r"bias|^(use|is|has|with|return|need)_|causal|verbose|flag"
    HEAD_SIZE = r"head_?(dim|size)|dim_head|^d_?(k|v|q|h|head)$|^(key|value|query|qk)_(dim|size)$"
    HEADS = r"head|^n?_?h$"
    LENGTH = r"^(?!.*(dim|width|channels|features)$).*(len|context|block|window|position|token|seq)"
    OTHER = (
        r"^base$|theta|temperature|config|cfg|^args$|layer$|module|norm|activation|act_fn|device|dtype|mode$|type|name"
    )
    SIZE = r""


FIRST_SIZES = {Role.SIZE: (12, 20, 28, 36), Role.HEAD_SIZE: (7, 9, 11, 13), Role.LENGTH: (8, 15, 17, 19)}
LAST_SIZES = {Role.SIZE: (24, 40, 56, 72), Role.HEAD_SIZE: (7, 9, 11, 13), Role.LENGTH: (16, 31, 33, 35)}
"""The first and the last size case's sizes for the first, second, ... keyword of a role.

They share no number with each other, nor with batches, tokens and heads, nor do the quotients by the number of heads.
"""


VOCABULARY = re.compile(r"vocab|embeddings$|^(num|n)_(tokens|classes|types|labels|symbols)$")

ANY, LONG, MANY, EQUAL = range(4)
"""The random size cases: any sizes, long inputs, many samples and heads, equal sizes."""

SIZES = {
    "steps": Values(fixed=(2, 3, 4), random=([2, 3], 1, 2, 4)),
    "tokens": Values(fixed=(1, 5, 5), random=([6, 11], [130, 160], [2, 3], 4)),
    "width": Values(fixed=(4, 7, 11), random=([3, 13], [3, 9], [4, 9], 4)),
    "classes": Values(fixed=(3, 5, 6), random=([3, 6], [10, 13], [4, 9], 4)),
    "rows": Values(fixed=(1, 3, 11), random=([2, 6], [37, 48], [37, 48], 4)),
    "columns": Values(fixed=(2, 4, 37), random=([7, 13], [130, 160], [130, 160], 4)),
    "items": Values(fixed=(9, 23, 40), random=([41, 77], [130, 160], 12, 16)),
    "queries": Values(random=([3, 9], [130, 160], [2, 3], 4)),
    "keys": Values(random=([3, 9], [130, 160], [4, 5], 4)),
}
"""Sizes that `new` gives a name of its own."""

RANGES_OF_ROLE: dict[Role, tuple[Range, Range, Range, Range]] = {
    Role.HEADS: ([3, 6], 2, [11, 13], 4),
    Role.HEAD_SIZE: ([3, 13], [3, 9], [4, 9], 4),
    Role.SIZE: ([3, 13], [3, 9], [4, 9], 4),
}
"""Sizes that a constructor names."""

PAIRED_WIDTHS = (10, 8, 4, 4)
"""Widths of heads whose features are taken in pairs: even ones."""

TIMES_HEADS = ([5, 9], [3, 5], [2, 3], [4, 4])
TIMES_LENGTH = ([1, 2], [1, 1], [40, 60], [1, 1])
"""By what the number of heads, or of tokens, is multiplied."""

LONG_WIDTH = [130, 160]
"""Where no axis is one of tokens, the features are what can be long."""


LENGTHS_OF_FUNCTION = ((1, 4, 8), (1, 9, 7), (2, 8, 9))
"""Those that a function takes as numbers: the first, the second, the third, on the three size cases."""


def heads_of(sizes: dict[str, Role]) -> str:
    return next((name for name, role in sizes.items() if role is Role.HEADS), "")


def fixed_sizes_of(sizes: dict[str, Role], *, is_cross: bool) -> FixedSizes:
    """Size cases from ones up, no two sizes of a size case alike once they are more than one."""
    lengths = {"queries": (1, 1, 3, 3, 3), "keys": (1, 5, 5, 5, 5)} if is_cross else {"tokens": (1, 5, 5, 5, 5)}
    batches = (1, 1, 1, 2, 2) if is_cross else (1, 1, 3, 3, 3)
    heads = (1, 1, 1, 1, 4) if is_cross else (1, 1, 1, 2, 4)
    size_cases: FixedSizes = []
    for number in range(len(batches)):
        size_case = {"batch": batches[number], **{name: values[number] for name, values in lengths.items()}}
        table = LAST_SIZES if number == len(batches) - 1 else FIRST_SIZES
        for role, values in table.items():
            size_case |= zip([name for name in sizes if sizes[name] is role], values, strict=False)
        size_case |= {name: heads[number] for name in sizes if sizes[name] is Role.HEADS}
        if size_case not in size_cases:
            size_cases.append(size_case)
    return size_cases


def refused_sizes(smallest: dict[str, int], sizes: dict[str, Role]) -> FixedSizes:
    """Sizes that the heads cannot share: some with something left over, some smaller than the number of heads."""
    if not heads_of(sizes):
        return []
    size_cases = []
    for width, heads in ((10, 3), (5, 7)):
        widths = [name for name, role in sizes.items() if role is Role.SIZE]
        changed = {name: width * 2**index for index, name in enumerate(widths)}
        size_cases.append({**smallest, **changed, heads_of(sizes): heads})
    return size_cases


def other_fixed_sizes(inputs: object, kind: Kind, lengths: list[str], *, in_pairs: bool) -> FixedSizes:
    """Three fixed size cases that the inputs name, and of `lengths` that are handed over as numbers."""
    sizes = {**{name: values.fixed for name, values in SIZES.items()}, "batch": kind.fixed_batches}
    used = [name for name in sizes if f"'{name}'" in str(inputs)]
    size_cases = [{name: sizes[name][size_case] for name in used} for size_case in range(3)]
    for index, name in enumerate(lengths):
        size_cases = [
            {**size_case, name: each}
            for size_case, each in zip(size_cases, LENGTHS_OF_FUNCTION[index % 3], strict=True)
        ]
    return (
        [{**size_case, "width": size_case["width"] // 2 * 2} for size_case in size_cases]
        if in_pairs and "width" in used
        else size_cases
    )


def propose_random_sizes(
    kind: Kind, names: list[str], *, in_pairs: bool = False, widths: Collection[str] = ()
) -> list[dict[str, Range]]:
    """The size cases of `drawn`, for the sizes of a list of sizes; features that are taken in pairs are even.

    `widths` are sizes that heads share, whatever they are called.
    """
    roles = {name: Role.SIZE if name in widths else size_role(name) for name in names}
    ranges = {name: _ranges(name, roles, kind, in_pairs=in_pairs) for name in names}
    size_cases: list[dict[str, Range]] = []
    for number in (ANY, LONG, MANY, EQUAL):
        size_case = {name: _plain(ranges[name][number]) for name in names}
        if size_case not in size_cases and (number != EQUAL or len(names) > 1):
            size_cases.append(size_case)
    return size_cases


def _plain(given: Range) -> Range:
    return given if isinstance(given, int) else [*given]


def _ranges(name: str, roles: dict[str, Role], kind: Kind, *, in_pairs: bool) -> tuple[Range, ...]:
    if name == "batch":
        return kind.random_batches
    if name == "width" and in_pairs:
        return PAIRED_WIDTHS
    if name == "width" and Role.LENGTH not in roles.values():
        return SIZES[name].random[ANY], LONG_WIDTH, *SIZES[name].random[MANY:]
    if name in SIZES:
        return SIZES[name].random
    role = roles[name]
    length = next((each for each in ("tokens", "keys") if each in roles), "")
    if VOCABULARY.search(name.lower()):
        return RANGES_OF_ROLE[Role.SIZE]
    if role is Role.LENGTH and length:
        return tuple((length, *factors) for factors in TIMES_LENGTH)
    if role is Role.LENGTH and not {"queries", "items"} & {*roles}:
        return SIZES["queries"].random
    heads = next((each for each in roles if roles[each] is Role.HEADS), "")
    if role is Role.SIZE and heads:
        return tuple(
            (heads, *factors)
            for factors in (zip(PAIRED_WIDTHS, PAIRED_WIDTHS, strict=True) if in_pairs else TIMES_HEADS)
        )
    if in_pairs and role in (Role.SIZE, Role.HEAD_SIZE):
        return PAIRED_WIDTHS
    return RANGES_OF_ROLE.get(role, RANGES_OF_ROLE[Role.SIZE])


def size_role(name: str) -> Role:
    """Return the meaning of a size by its name."""
    return next(role for role in Role if re.search(role.value, name.lower()))


def describe_shapes(
    shapes: Sequence[Sequence[tuple[int, ...]]], fixed_sizes: FixedSizes, drawn: Sequence[dict[str, Any]]
) -> str:
    """What to write under `outputs` for outputs of these shapes, and under `sizes` where that takes
    sizes with names of their own.
    """
    size_cases, above = [dict(size_case) for size_case in fixed_sizes], [dict(size_case) for size_case in drawn]
    lines = ["  outputs:"]
    for index in range(len(shapes[0])):
        axes = zip(*(each[index] for each in shapes), strict=True)
        lines.append(f"    - [{', '.join(_named_axis(axis, size_cases, above) for axis in axes)}]")
    if size_cases != fixed_sizes:
        lines += ["sizes:", *(f"  - {_flow(size_case)}" for size_case in size_cases)]
        lines += [f"  - {_flow(size_case)}" for size_case in above]
    return "\n".join(lines)


def _flow(size_case: dict[str, Any]) -> str:
    return str(size_case).replace("'", "")


def _named_axis(lengths: tuple[int, ...], size_cases: FixedSizes, above: list[dict[str, Any]]) -> str:
    """The size that an axis has on every size case, or a number; else a new size, which is added to the size cases."""
    known = {name: tuple(size_case[name] for size_case in size_cases) for name in size_cases[0]}
    same = next((name for name, values in known.items() if values == lengths), "")
    if same or len({*lengths}) == 1:
        return same or str(lengths[0])
    new = _made_of(lengths, known, above) or f"length_{len(size_cases[0])}"
    for size_case, length in zip(size_cases, lengths, strict=True):
        size_case[new] = length
    return new


def _made_of(lengths: tuple[int, ...], known: dict[str, tuple[int, ...]], above: list[dict[str, Any]]) -> str:
    """The name of a size that is a multiple, a quotient or a sum of known ones, which is added to the size cases
    above.
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


def _pinned(size_case: dict[str, Any], name: str) -> int:
    """The smallest that a size may be on a size case, which it is from now on."""
    match size_case[name]:
        case [str(other), least, _]:
            size_case[name] = least * _pinned(size_case, other)
        case [least, _]:
            size_case[name] = least
    return int(size_case[name])
