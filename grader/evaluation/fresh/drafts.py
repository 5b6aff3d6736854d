"""Draft a hunt: rewrite a right solution so that it looks like another author's, and find defects to put into it."""

import ast
import difflib
import io
import itertools
import random
import re
import tokenize
from collections.abc import Container, Iterable, Iterator

import libcst as cst
from msgspec import Struct

from grader.author.mutants import OPERATORS
from grader.author.operators import ATTENTION_OPERATORS, MODULE_OPERATORS
from grader.author.parsed_source import Edit, Operator, ParsedSource, is_method, replace
from grader.author.rewrites import RULES, rewrite
from grader.author.statement_rewrites import SUFFIX

UNLIKELY_RULES = ("fused attention", "functional linear", "inputs copied", "softmax of logarithms")
"""Rules whose results no author would write."""

RULE_SHARE = 0.4
"""The share of the rules that a draft applies."""

NAMES = ("_out", "_t", "_now", "_value", "_x", "_cur", "_res", "_part")
"""Ends of names that replace the rewriting rules' own."""

UNFIT_OPERATORS = ("None assigned", "argument dropped", "statement removed")
"""Operators whose mutants nearly always crash, or leave a `pass` that names the place: there is little to hunt."""

LIKELY_FACTOR = 4
"""How much more often a candidate for a defect concerns attention or modules than any other code."""

MAX_FRAGMENT_LINES = 6


class Candidate(Struct, frozen=True, kw_only=True):
    """A candidate for a defect of a source: the whole lines with and without it, and where they are."""

    operator: str
    method: str
    """The name of the function that contains the change; empty at the top of the file."""
    fix: str
    was: str
    first: int
    """The index of the first line of `fix` in the source, and of the line after the last one."""
    end: int

    def meets(self, other: "Candidate") -> bool:
        """Return whether two candidates share or touch lines."""
        return self.first <= other.end and other.first <= self.end


NEW_TENSOR = ("masked_fill", "transpose", "permute", "contiguous")
"""Methods that return a new tensor and leave the old one as it is."""


def result_discarded(node: cst.CSTNode, parsed: ParsedSource) -> Iterable[Edit]:
    """`scores = scores.masked_fill(...)` -> `scores.masked_fill(...)`: the new tensor is thrown away."""
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
        return
    assign = node.body[0]
    if isinstance(assign, cst.Assign) and is_method(assign.value, *NEW_TENSOR):
        target, value = assign.targets[0].target, parsed.code(assign.value)
        if isinstance(target, cst.Name) and value.startswith(f"{target.value}."):
            yield replace(assign, value)


OWN_OPERATORS: dict[str, Operator] = {
    "result discarded": Operator(edits=result_discarded, advice="matches_reference"),
}
"""Patterns of documented defects that no operator of the proofs makes."""

USED = {name: each for name, each in (OPERATORS | OWN_OPERATORS).items() if name not in UNFIT_OPERATORS}
LIKELY = (ATTENTION_OPERATORS | MODULE_OPERATORS | OWN_OPERATORS).keys()


def rewritten(source: str, draw: random.Random) -> tuple[str, list[str]]:
    """Return the source in another author's style, and the rules that were applied: calls, names, order, layout."""
    rules = [name for name in RULES if name not in UNLIKELY_RULES and draw.random() < RULE_SHARE]
    draw.shuffle(rules)
    text = rewrite(_without_docstrings(source), tuple(rules), lambda: draw.random() < 1 - RULE_SHARE / 2)
    if draw.random() < RULE_SHARE:
        text = _methods_in_another_order(text, draw)
        rules.append("methods in another order")
    endings = [end for end in NAMES if not re.search(rf"\w{end}\b", text)]
    text = text.replace(SUFFIX, draw.choice(endings)) if endings else text
    return _without_needless_parentheses(text, range(1, text.count("\n") + 2)), rules


def _without_docstrings(source: str) -> str:
    """Return the source without docstrings, which describe the right solution; one that is a whole body stays."""
    lines, spans = source.split("\n"), []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not ast.get_docstring(node):
            continue
        if len(node.body) > 1 or isinstance(node, ast.Module):
            spans.append((node.body[0].lineno - 1, node.body[0].end_lineno))
    for first, end in sorted(spans, reverse=True):
        del lines[first:end]
    return "\n".join(lines).lstrip("\n")


JOINED = re.compile(r"^\w\(\w|\w\)\w$")
"""Parentheses between two words that would become one word without them."""


def _without_needless_parentheses(source: str, lines: Container[int]) -> str:
    """Return the source without the parentheses opened on these lines that change nothing.

    Operators leave such parentheses behind, and they would show where the defect is. Lines count from 1.
    """
    tree, dropped = _dump(source), set[int]()
    for line, opening, closing in _parentheses(source):
        shorter = dropped | {opening, closing}
        if line not in lines or JOINED.search(source[max(0, opening - 1) : closing + 2]):
            continue
        if _dump(_without(source, shorter)) == tree:
            dropped = shorter
    return _without(source, dropped)


def _parentheses(source: str) -> Iterator[tuple[int, int, int]]:
    """Yield each pair of parentheses: its line, counted from 1, and the offsets of both in the source."""
    starts = [0, *itertools.accumulate(len(line) + 1 for line in source.split("\n"))]
    opened = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.exact_type == tokenize.LPAR:
            opened.append(token.start)
        elif token.exact_type == tokenize.RPAR:
            (line, column), (last_line, last_column) = opened.pop(), token.start
            yield line, starts[line - 1] + column, starts[last_line - 1] + last_column


def _without(text: str, dropped: set[int]) -> str:
    """Return the text without the characters at these offsets."""
    return "".join(letter for index, letter in enumerate(text) if index not in dropped)


def _methods_in_another_order(source: str, draw: random.Random) -> str:
    """Return the source with the methods of each class, except the constructor, in another order."""
    tree = ast.parse(source)
    for owner in ast.walk(tree):
        if not isinstance(owner, ast.ClassDef):
            continue
        places = [index for index, node in enumerate(owner.body) if _can_move(node)]
        moved = [owner.body[index] for index in places]
        draw.shuffle(moved)
        for index, node in zip(places, moved, strict=True):
            owner.body[index] = node
    return ast.unparse(tree) + "\n"


def _can_move(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name != "__init__" and not node.decorator_list


def candidates_of(source: str, draw: random.Random) -> Iterator[Candidate]:
    """Yield the defects that operators can put into the source, in a random order; likely ones tend to come first."""
    parsed = ParsedSource(source)
    found: dict[str, list[tuple[str, Edit]]] = {}
    for node in parsed.nodes():
        function = parsed.function_of(node)
        for name, operator in USED.items():
            for edit in operator.edits(node, parsed):
                found.setdefault(name, []).append((function.name.value if function else "", edit))
    tree = _dump(source)
    while found:
        names = sorted(found)
        weights = [(LIKELY_FACTOR if each in LIKELY else 1) * len(found[each]) ** 0.5 for each in names]
        name = draw.choices(names, weights)[0]
        method, edit = found[name].pop(draw.randrange(len(found[name])))
        if not found[name]:
            del found[name]
        text = parsed.apply(edit)
        if _dump(text) not in ("", tree):
            changes = _changes(source.split("\n"), text.split("\n"))
            changed = {line + 1 for _, _, first, end in changes for line in range(first, end)}
            text = _without_needless_parentheses(text, changed)
            candidate = _candidate(name, method, source, text)
            if candidate is not None:
                yield candidate


def _dump(source: str) -> str:
    """Return the text of the syntax tree; empty if the source cannot be parsed."""
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:
        return ""


def _candidate(operator: str, method: str, source: str, changed: str) -> Candidate | None:
    """Return the change as whole lines that occur once in each text; None if it spreads over too many lines."""
    before, after = source.split("\n"), changed.split("\n")
    changes = _changes(before, after)
    first, end = min(each[0] for each in changes), max(each[1] for each in changes)
    removed = len(before) - len(after)
    while end - first <= MAX_FRAGMENT_LINES:
        fix, was = "\n".join(before[first:end]), "\n".join(after[first : end - removed])
        if _is_once(fix, source) and _is_once(was, changed):
            return Candidate(operator=operator, method=method, fix=fix, was=was, first=first, end=end)
        if first == 0:
            return None
        first -= 1
    return None


def _changes(before: list[str], after: list[str]) -> list[tuple[int, int, int, int]]:
    """Return the first line and the line after the last one of each change, before and after."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [each[1:] for each in matcher.get_opcodes() if each[0] != "equal"]


def _is_once(fragment: str, text: str) -> bool:
    """Return whether the fragment has code and occurs once; the parts of an empty fragment occur everywhere."""
    return bool(fragment.strip()) and text.count(fragment) == 1 and text.count(fragment.strip()) == 1
