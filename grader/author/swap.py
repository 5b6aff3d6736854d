"""Swaps: nodes of a syntax tree and the source that takes their place."""

import libcst as cst
from msgspec import Struct


class Swap(Struct, frozen=True):
    """Pairs of a node and its new source; several where one idea touches several nodes, none within another."""

    pairs: list[tuple[cst.CSTNode, str]]


def becomes(node: cst.CSTNode, code: str) -> Swap:
    """One node's source replaced."""
    return Swap([(node, code)])
