"""Mutation operators for any code: mutmut's on arithmetic, comparisons, constants and booleans; statements removed."""

from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst
from mutmut.mutation import mutators

from grader.author.parsed_source import ParsedSource, Swap, becomes, is_wordy

Borrowed = Callable[[Any], Iterable[cst.CSTNode]]

BORROWED: dict[str, tuple[type[cst.CSTNode] | tuple[type[cst.CSTNode], ...], Borrowed]] = {
    "constant raised": (cst.BaseNumber, mutators.operator_number),
    "truth value flipped": (cst.Name, mutators.operator_name),
    "not dropped": (cst.UnaryOperation, mutators.operator_remove_unary_ops),
    "is and is not swapped": (cst.CSTNode, mutators.operator_keywords),
    "operator replaced": (
        (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.ComparisonTarget, cst.AugAssign),
        mutators.operator_swap_op,
    ),
    "None assigned": (cst.Assign, mutators.operator_assignment),
    "argument dropped": (cst.Call, mutators.operator_arg_removal),
}
"""mutmut's operators, with the nodes they are for. Those that change texts are left out: words are not behaviour."""


def constant_lowered(node: cst.CSTNode, _scene: ParsedSource) -> Iterable[Swap]:
    """`1` -> `0`: mutmut only counts upwards, and the axes of tensors are counted from both ends."""
    if isinstance(node, cst.Integer):
        yield becomes(node, str(node.evaluated_value - 1))


def statement_removed(node: cst.CSTNode, _scene: ParsedSource) -> Iterable[Swap]:
    """`x = f(x)` -> `pass`; whole `if`s too."""
    if is_wordy(node) or not isinstance(node, cst.SimpleStatementLine | cst.If):
        return
    if isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[0], cst.Import | cst.ImportFrom):
        return
    yield becomes(node, "pass")


def condition_negated(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Swap]:
    """`if flag:` -> `if not flag:`."""
    if isinstance(node, cst.If | cst.IfExp):
        yield becomes(node.test, f"not ({parsed.code(node.test)})")


def operand_dropped(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Swap]:
    """`a or b` -> `a`, and `b`."""
    if isinstance(node, cst.BooleanOperation):
        yield becomes(node, f"({parsed.code(node.left)})")
        yield becomes(node, f"({parsed.code(node.right)})")


def _borrow(
    kinds: type[cst.CSTNode] | tuple[type[cst.CSTNode], ...], operator: Borrowed
) -> Callable[[cst.CSTNode, ParsedSource], Iterable[Swap]]:
    def borrowed(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Swap]:
        if not isinstance(node, kinds):
            return []
        codes = [parsed.code(new) for new in operator(node)]
        keeps_space = isinstance(node, cst.ComparisonTarget)  # the space before a comparison belongs to it
        return [becomes(node, code if keeps_space else code.strip()) for code in codes]

    return borrowed


PLAIN_OPERATORS: dict[str, Callable[[cst.CSTNode, ParsedSource], Iterable[Swap]]] = {
    **{name: _borrow(kinds, operator) for name, (kinds, operator) in BORROWED.items()},
    "constant lowered": constant_lowered,
    "statement removed": statement_removed,
    "condition negated": condition_negated,
    "operand dropped": operand_dropped,
}
