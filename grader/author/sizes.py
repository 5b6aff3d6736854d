"""Propose the sizes of a new description: fixed size cases, the first with sizes of 1, and random ones."""

import re
from collections.abc import Collection, Sequence
from enum import Enum
from typing import Any, TypeVar

from msgspec import Struct

from grader.spec.kinds import Kind

T = TypeVar("T")

FixedSizes = list[dict[str, int]]
Range = int | Sequence[str | int]
Ranges = tuple[Range, Range, Range, Range]
"""The four random size cases: any sizes, long inputs, many samples and heads, equal sizes."""


class Role(Enum):
    """The meaning of a constructor's keyword, by a pattern for its name; the first match counts."""

    DROPOUT = r"drop|^p$"
    FLAG = r"bias|^(use|is|has|with|return|need)_|causal|verbose|flag"
    VOCABULARY = r"vocab|embeddings$|^(num|n)_(tokens|classes|types|labels|symbols)$"
    HEAD_SIZE = r"head_?(dim|size)|dim_head|^d_?(k|v|q|h|head)$|^(key|value|query|qk)_(dim|size)$"
    HEADS = r"head|^n?_?h$"
    LENGTH = r"^(?!.*(dim|width|channels|features)$).*(len|context|block|window|position|token|seq)"
    KERNEL = r"kernel|dilation"
    OTHER = (
        r"^base$|theta|temperature|config|cfg|^args$|layer$|module|norm|activation|act_fn|device|dtype|mode$|type|name"
        r"|stride|padding|groups"
    )
    SIZE = r""


class Values(Struct, frozen=True, kw_only=True):
    """The values of a size: one for each fixed size case (further cases repeat the last value), and one for each random
    size case.
    """

    fixed: tuple[int, ...] = (1, 5)
    random: Ranges


SIZES = {
    "steps": Values(fixed=(2, 3, 4), random=([2, 3], 1, 2, 4)),
    "tokens": Values(random=([6, 11], [130, 160], [2, 3], 4)),
    "queries": Values(fixed=(1, 1, 3), random=([3, 9], [130, 160], [2, 3], 4)),
    "keys": Values(random=([3, 9], [130, 160], [4, 5], 4)),
    "width": Values(fixed=(4, 7, 11), random=([3, 13], [3, 9], [4, 9], 4)),
    "classes": Values(fixed=(3, 5, 6), random=([3, 6], [10, 13], [4, 9], 4)),
    "rows": Values(fixed=(1, 3, 11), random=([2, 6], [37, 48], [37, 48], 4)),
    "columns": Values(fixed=(2, 4, 37), random=([7, 13], [130, 160], [130, 160], 4)),
    "height": Values(fixed=(1, 4), random=([6, 11], [60, 70], [2, 3], 4)),
    "breadth": Values(random=([3, 5], [2, 3], [4, 5], 4)),
    "items": Values(fixed=(9, 23, 40), random=([41, 77], [130, 160], 12, 16)),
}
NAMED = ("batch", *SIZES)
"""Sizes that `new` names itself, in the order in which a size case lists them; the kind has the batches."""

FIXED_OF_ROLE = {
    Role.SIZE: ((12, 24), (20, 40), (28, 56), (36, 72)),
    Role.HEAD_SIZE: ((7, 7), (9, 9), (11, 11), (13, 13)),
    Role.LENGTH: ((8, 16), (15, 31), (17, 33), (19, 35)),
    Role.VOCABULARY: ((47, 53), (59, 61)),
    Role.HEADS: ((1, 4),),
    Role.KERNEL: ((1, 3), (1, 4)),
}
"""The values in the first and in the last size case for the first, second, ... keyword of a role.

These values, the batches and the tokens all differ, and so do the quotients by the number of heads.
"""

LENGTHS = ((1, 4, 8), (1, 9, 7), (2, 8, 9))
"""The fixed sizes of lengths that a function takes as numbers."""

ANY_SIZE: Ranges = ([3, 13], [3, 9], [4, 9], 4)
SMALL_KERNELS: Ranges = ([2, 5], [3, 4], [2, 3], 4)
SOME_HEADS: Ranges = ([3, 6], 2, [11, 13], 4)
EVEN = (10, 8, 4, 4)
"""Numbers of features for code that uses features in pairs."""
LONG = [130, 160]

TIMES_HEADS = ([5, 9], [3, 5], [2, 3], [4, 4])
TIMES_TOKENS = ([1, 2], [1, 1], [40, 60], [1, 1])
"""Factors: a width is so many times the number of heads, and a limit so many times the number of tokens."""


def role_of(name: str) -> Role:
    """Return the meaning of a size by its name."""
    return next(role for role in Role if re.search(role.value, name.lower()))


def first_of(role: Role, roles: dict[str, Role]) -> str:
    """Return the first name with this role, or nothing."""
    return next((name for name in roles if roles[name] is role), "")


def propose_sizes(
    kind: Kind, names: Sequence[str], *, widths: Collection[str] = (), in_pairs: bool = False
) -> tuple[FixedSizes, list[dict[str, Any]]]:
    """Return the fixed size cases and the random ones for sizes of these names.

    Within a fixed size case, no two sizes are equal, except sizes of 1. `widths` are features, whatever they are
    called; features that are taken `in_pairs` are even.
    """
    roles = {name: Role.SIZE if name in widths else role_of(name) for name in names}
    values = {name: _values(name, roles, kind, in_pairs=in_pairs) for name in names}
    count = max((len(each.fixed) for each in values.values()), default=1)
    padded = {name: [*each.fixed, *each.fixed[-1:] * count] for name, each in values.items()}
    fixed = [{name: each[case] for name, each in padded.items()} for case in range(count)]
    cases = range(4 if len(names) > 1 else 3)  # the fourth case makes sizes equal
    random = [{name: each.random[case] for name, each in values.items()} for case in cases]
    return _distinct(fixed), _distinct(random)


def _distinct(size_cases: list[T]) -> list[T]:
    return [each for index, each in enumerate(size_cases) if each not in size_cases[:index]]


def _values(name: str, roles: dict[str, Role], kind: Kind, *, in_pairs: bool) -> Values:
    role = roles[name]
    if name == "batch":
        return Values(fixed=kind.fixed_batches, random=kind.random_batches)
    if name == "width" and in_pairs:
        return Values(fixed=(4, 6, 10), random=EVEN)
    if name == "width" and Role.LENGTH not in roles.values():
        return Values(fixed=SIZES[name].fixed, random=(ANY_SIZE[0], LONG, *ANY_SIZE[2:]))
    if name in SIZES:
        return SIZES[name]
    length = next((each for each in ("tokens", "keys") if each in roles), "")
    same_role = [each for each in roles if roles[each] is role and each not in NAMED]
    position = same_role.index(name)
    table = FIXED_OF_ROLE.get(role, FIXED_OF_ROLE[Role.SIZE])
    first, last = table[position % len(table)]
    fixed: tuple[int, ...] = (first, first, first, last)
    random: Ranges = ANY_SIZE
    heads = first_of(Role.HEADS, roles)
    if role is Role.HEADS:
        random = SOME_HEADS
    elif role is Role.KERNEL:
        random = SMALL_KERNELS
    elif role is Role.LENGTH:
        fixed = fixed if kind.is_module else LENGTHS[position % len(LENGTHS)]
        random = _multiples(length, TIMES_TOKENS) if length else SIZES["queries"].random
    elif role is Role.SIZE and heads:
        random = _multiples(heads, [[each, each] for each in EVEN] if in_pairs else TIMES_HEADS)
    elif in_pairs and role in (Role.SIZE, Role.HEAD_SIZE):
        random = EVEN
    return Values(fixed=fixed, random=random)


def _multiples(name: str, factors: Sequence[Sequence[int]]) -> Ranges:
    any_size, long, many, equal = factors
    return [name, *any_size], [name, *long], [name, *many], [name, *equal]


def refused_sizes(smallest: dict[str, int], roles: dict[str, Role]) -> FixedSizes:
    """Return sizes that the heads cannot share: with a remainder, and smaller than the number of heads."""
    heads = first_of(Role.HEADS, roles)
    widths = [name for name, role in roles.items() if role is Role.SIZE]
    return [
        {**smallest, **{name: width * 2**index for index, name in enumerate(widths)}, heads: count}
        for width, count in (((10, 3), (5, 7)) if heads else ())
    ]
