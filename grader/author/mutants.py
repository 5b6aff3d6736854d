"""First-order mutants of a reference: each makes one typical mistake in one place."""

import ast
import difflib
import hashlib
from collections.abc import Iterable, Iterator
from itertools import combinations
from math import isinf

import libcst as cst
from msgspec import Struct

from grader.author.operators import ATTENTION_OPERATORS, IN_PLACE, MODULE_OPERATORS
from grader.author.parsed_source import Edit, Operator, ParsedSource, is_output_only, replace
from grader.verdict.digest import meaning

TREE_LENGTH = 24


class Mutant(Struct, frozen=True, kw_only=True):
    """A changed source: the operator that made it, the line it changed, the change as a unified diff.

    `tree` is a digest of its syntax tree; comments and docstrings do not change it.
    """

    operator: str
    line: int
    diff: str
    text: str
    tree: str = ""

    def change(self) -> tuple[str, str]:
        """Return the lines before and after, without their common indentation."""
        lines = self.diff.splitlines()[1:]
        before, after = ([line[1:] for line in lines if line.startswith(sign)] for sign in "-+")
        return plain_lines("\n".join(before)), plain_lines("\n".join(after))


def mutants_of(source: str, operators: dict[str, Operator] | None = None) -> list[Mutant]:
    """Return the mutants that all operators, or the given ones, make of a source.

    Their syntax trees differ from each other and from the source's.
    """
    parsed = ParsedSource(source)
    trees = {_tree(source)}
    mutants = []
    for operator, line, text in _changed_texts(parsed, OPERATORS if operators is None else operators):
        tree = _tree(text)
        if tree and tree not in trees:
            trees.add(tree)
            mutants.append(Mutant(operator=operator, line=line, diff=_diff(source, text), text=text, tree=tree))
    return sorted(mutants, key=lambda mutant: mutant.line)


def plain_lines(text: str) -> str:
    """Strip surrounding blank lines and indentation, to compare fragments of code."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def is_same_in_other_words(source: str, mutant: Mutant) -> bool:
    """Return whether a mutant may compute the same values, as with None for False, or an axis counted from the end."""
    ours, theirs = ast.parse(source), ast.parse(mutant.text)
    return _is_another_word(_differing(ours, theirs)) or _in_plain_words(ours) == _in_plain_words(theirs)


def _is_another_word(differing: list[tuple[ast.AST, ast.AST]]) -> bool:
    """Return whether two sources that differ in these nodes may compute the same."""
    match differing:
        case [(ast.Constant(value=False), ast.Constant(value=None))]:
            return True
        case [(ast.Attribute(attr=before), ast.Attribute(attr=after))]:
            return str(after) == f"{before}_"  # in place
        case [(ast.BinOp(), ast.Call(func=ast.Attribute(attr=name)))]:
            return name in IN_PLACE.values()
        case [(ast.Call(keywords=given), ast.Call(keywords=left))]:
            return len(left) < len(given)  # the omitted argument may have its default value
        case [(one, ast.Constant(value=None))]:
            return _whole_number(one) is not None  # dim=None: a softmax chooses its axis
        case [(one, other)]:
            first, second = _whole_number(one), _whole_number(other)
            return first is not None and second is not None and (first < 0) != (second < 0)
    return False


class _PlainWords(ast.NodeTransformer):
    """Removes the messages of exceptions, and sorts the arguments of functions in `UNORDERED`."""

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            node.exc.args, node.exc.keywords = [], []
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name | ast.Attribute) and not node.keywords:
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name in UNORDERED:
                node.args.sort(key=ast.dump)
        return node


UNORDERED = ("max", "min", "maximum", "minimum", "gcd")
"""Functions whose result does not depend on the order of their arguments."""


def _in_plain_words(tree: ast.Module) -> str:
    return ast.dump(_PlainWords().visit(tree))


def _differing(one: ast.AST, other: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Return the smallest subtrees that differ; a signed number is one subtree."""
    is_number = _whole_number(one) is not None and _whole_number(other) is not None
    if type(one) is not type(other) or is_number:
        return [] if ast.dump(one) == ast.dump(other) else [(one, other)]
    pairs = []
    for name in one._fields:
        ours, theirs = (
            value if isinstance(value, list) else [value] for value in (getattr(one, name), getattr(other, name))
        )
        if len(ours) != len(theirs):
            return [(one, other)]
        for mine, yours in zip(ours, theirs, strict=True):
            if isinstance(mine, ast.AST) and isinstance(yours, ast.AST):
                pairs += _differing(mine, yours)
            elif type(mine) is not type(yours) or mine != yours:
                return [(one, other)]
    return pairs


def _whole_number(node: ast.AST) -> int | None:
    try:
        value = ast.literal_eval(ast.unparse(node)) if isinstance(node, ast.UnaryOp | ast.Constant) else None
    except ValueError:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _changed_texts(parsed: ParsedSource, operators: dict[str, Operator]) -> Iterator[tuple[str, int, str]]:
    for node in parsed.nodes():
        for name, operator in operators.items():
            for edit in operator.edits(node, parsed):
                yield name, parsed.line(node), parsed.apply(edit)


def _tree(text: str) -> str:
    """Digest a source's syntax tree; empty if it cannot be parsed."""
    try:
        return hashlib.sha256(meaning(text).encode("utf-8", "surrogatepass")).hexdigest()[:TREE_LENGTH]
    except SyntaxError:
        return ""


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return "\n".join(list(lines)[2:])


# Operators for any code. They leave texts alone: words are not behaviour.

REPLACEMENTS: dict[type[cst.CSTNode], type[cst.CSTNode]] = {
    cst.Add: cst.Subtract,
    cst.Subtract: cst.Add,
    cst.Multiply: cst.Divide,
    cst.Divide: cst.Multiply,
    cst.FloorDivide: cst.Divide,
    cst.Modulo: cst.Divide,
    cst.Power: cst.Multiply,
    cst.BitAnd: cst.BitOr,
    cst.BitOr: cst.BitAnd,
    cst.BitXor: cst.BitAnd,
    cst.LeftShift: cst.RightShift,
    cst.RightShift: cst.LeftShift,
    cst.AddAssign: cst.SubtractAssign,
    cst.SubtractAssign: cst.AddAssign,
    cst.MultiplyAssign: cst.DivideAssign,
    cst.DivideAssign: cst.MultiplyAssign,
    cst.FloorDivideAssign: cst.DivideAssign,
    cst.ModuloAssign: cst.DivideAssign,
    cst.PowerAssign: cst.MultiplyAssign,
    cst.BitAndAssign: cst.BitOrAssign,
    cst.BitOrAssign: cst.BitAndAssign,
    cst.LessThan: cst.LessThanEqual,
    cst.LessThanEqual: cst.LessThan,
    cst.GreaterThan: cst.GreaterThanEqual,
    cst.GreaterThanEqual: cst.GreaterThan,
    cst.Equal: cst.NotEqual,
    cst.NotEqual: cst.Equal,
    cst.Is: cst.IsNot,
    cst.IsNot: cst.Is,
    cst.In: cst.NotIn,
    cst.NotIn: cst.In,
    cst.And: cst.Or,
    cst.Or: cst.And,
}
"""Replacements of operators."""

OPERATIONS = (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.ComparisonTarget, cst.AugAssign)
TRUTH_VALUES = {"True": "False", "False": "True"}


def operator_replaced(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`a + b` -> `a - b`, `a > b` -> `a >= b`, `a is None` -> `a is not None`."""
    replacement = REPLACEMENTS.get(type(node.operator)) if isinstance(node, OPERATIONS) else None
    if replacement is not None:
        code = parsed.code(node.with_changes(operator=replacement()))
        keeps_space = isinstance(node, cst.ComparisonTarget)  # the space before a comparison belongs to it
        yield replace(node, code if keeps_space else code.strip())


def constant_moved(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`1` -> `2` and `0`, `-1` -> `-2` and `0`, `0.5` -> `1.5`: the axes of tensors are counted from both ends."""
    if isinstance(node, cst.Integer):
        parent, value = next(parsed.parents(node)), node.evaluated_value
        is_negative = isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Minus)
        for step in (1, -1):
            yield replace(parent, str(step - value)) if is_negative else replace(node, str(step + value))
    elif isinstance(node, cst.Float) and not isinf(node.evaluated_value):
        yield replace(node, repr(node.evaluated_value + 1))


def truth_value_flipped(node: cst.CSTNode, _parsed: ParsedSource) -> Iterable[Edit]:
    """`True` -> `False`, and back."""
    if isinstance(node, cst.Name) and node.value in TRUTH_VALUES:
        yield replace(node, TRUTH_VALUES[node.value])


def negation_dropped(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`not a` -> `a`, `~a` -> `a`, and `-a` -> `a`."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not | cst.BitInvert | cst.Minus):
        yield replace(node, parsed.code(node.expression))


def none_assigned(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`a = b` -> `a = None`, and `a = None` -> `a = ""`."""
    if isinstance(node, cst.Assign):
        yield replace(node.value, '""' if parsed.code(node.value) == "None" else "None")


def argument_dropped(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`f(a, b)` -> `f(None, b)`, `f(a, None)`, `f(b)` and `f(a)`."""
    if not isinstance(node, cst.Call):
        return
    for argument in node.args:
        if not argument.star and parsed.code(argument.value) != "None":
            yield replace(argument.value, "None")
    if len(node.args) > 1:
        for kept in combinations(node.args, len(node.args) - 1):
            yield replace(node, parsed.code(node.with_changes(args=kept)))


def statement_removed(node: cst.CSTNode, _parsed: ParsedSource) -> Iterable[Edit]:
    """`x = f(x)` -> `pass`; whole `if`s too."""
    if is_output_only(node) or not isinstance(node, cst.SimpleStatementLine | cst.If):
        return
    if isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[0], cst.Import | cst.ImportFrom):
        return
    yield replace(node, "pass")


def condition_negated(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`if flag:` -> `if not flag:`."""
    if isinstance(node, cst.If | cst.IfExp):
        yield replace(node.test, f"not ({parsed.code(node.test)})")


def operand_dropped(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`a or b` -> `a`, and `b`."""
    if isinstance(node, cst.BooleanOperation):
        yield replace(node, f"({parsed.code(node.left)})")
        yield replace(node, f"({parsed.code(node.right)})")


OPERATORS: dict[str, Operator] = {
    "constant moved": Operator(
        edits=constant_moved, advice="matches_reference, with `defaults` naming the argument where it is a default"
    ),
    "truth value flipped": Operator(
        edits=truth_value_flipped, advice="matches_reference with `defaults` naming the argument"
    ),
    "negation dropped": Operator(
        edits=negation_dropped, advice="raises for a refusal, else matches_reference with a mask as input"
    ),
    "operator replaced": Operator(
        edits=operator_replaced,
        advice="raises with sizes just inside and just outside the limit, else matches_reference",
    ),
    "None assigned": Operator(
        edits=none_assigned, advice="attribute_equals, where the interface promises the attribute"
    ),
    "argument dropped": Operator(
        edits=argument_dropped, advice="matches_reference with the argument not at its default"
    ),
    "statement removed": Operator(
        edits=statement_removed,
        advice="attribute_equals for an attribute, raises for a refusal, else matches_reference",
    ),
    "condition negated": Operator(
        edits=condition_negated,
        advice="raises for a refusal, else matches_reference with the flag set in `constructor` or `inputs`",
    ),
    "operand dropped": Operator(
        edits=operand_dropped,
        advice="raises with one half of the condition true, else matches_reference with inputs of both kinds",
    ),
    **ATTENTION_OPERATORS,
    **MODULE_OPERATORS,
}
"""All operators, by name."""
