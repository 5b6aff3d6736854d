"""The key of an exercise, and the names of its variants."""

import msgspec
from msgspec import Struct


class Key(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The signatures of every variant of an exercise, and the syntax trees of its methods; both by `variant_name`."""

    digest: str
    """A digest of everything that the key depends on."""
    signatures: dict[str, dict[str, str]]
    """By check, the signatures of the checks that the variant fails."""
    methods: dict[str, dict[str, str]]
    """By method, a fingerprint of each statement's syntax tree. Empty in a sealed edition."""
    near_misses: dict[str, dict[str, str]] = {}
    """The signatures of each near miss, alone and beside other defects; by the name of near miss and defects."""


def encode_key(key: Key) -> bytes:
    """Return the content of key.json."""
    return msgspec.json.format(msgspec.json.encode(key, order="sorted"), indent=1) + b"\n"


REFERENCE = ""
"""The name of the variant without defects, which is the reference."""


def variant_name(subset: frozenset[str]) -> str:
    """Return the name of the variant with these defects: their ids joined by `+`."""
    return "+".join(sorted(subset))


def defects_in(variant: str) -> frozenset[str]:
    """Return the ids of the defects that the variant of that name has; the reverse of `variant_name`."""
    return frozenset(variant.split("+")) if variant else frozenset()


def has_defect(variant: str, defect: str) -> bool:
    """Return whether the variant of that name has the defect."""
    return defect in defects_in(variant)
