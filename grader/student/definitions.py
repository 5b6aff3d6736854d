"""Cells that a kernel has run -> Submission: a class as it is defined now, with what it uses, and nothing else.

Demonstrations, training loops and prints that ran beside it are left out: they say nothing about the class.
"""

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct

from grader.submission import Chunk, Submission
from grader.submission.notebook import without_magics

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign


class _Statement(Struct, frozen=True):
    """A statement at the top of a cell: where it stands, the names it gives a meaning, and those it uses."""

    cell: int
    first: int
    last: int
    gives: frozenset[str]
    uses: frozenset[str]
    changes: str = ""
    """The name whose attribute it sets, as in `Head.forward = forward`."""


def submission_from_cells(cells: Sequence[Chunk], entry: str) -> Submission | None:
    """The class named `entry` as these cells, in the order they ran, have left it; None where none defines it.

    Its chunks bear the cells' labels, and lines stand where they stand in their cell.
    """
    texts = [without_magics(cell.text) for cell in cells]
    statements = [statement for number, text in enumerate(texts) for statement in _statements(number, text)]
    chosen = _needed_for(entry, statements)
    if not chosen:
        return None
    chunks = []
    for number, text in enumerate(texts):
        spans = [(each.first, each.last) for each in chosen if each.cell == number]
        if spans:
            chunks.append(Chunk(cells[number].label, _only(text, spans)))
    return Submission("notebook", tuple(chunks))


def _needed_for(entry: str, statements: list[_Statement]) -> list[_Statement]:
    """The last statement that defines the entry, those that gave it what it uses, and later changes to any of them."""
    if not any(entry in each.gives for each in statements):
        return []
    needed = [each for each in statements if "*" in each.gives]
    wanted, found = {entry}, set[str]()
    while wanted - found:
        name = min(wanted - found)
        found.add(name)
        about_it = [each for each in statements if name in each.gives]
        parts = about_it[-1:] + [
            each for each in statements if each.changes == name and each in statements[_place(statements, about_it) :]
        ]
        needed += [each for each in parts if each not in needed]
        wanted |= {used for each in parts for used in each.uses}
    return needed


def _place(statements: list[_Statement], about_it: list[_Statement]) -> int:
    return statements.index(about_it[-1]) if about_it else 0


def _statements(cell: int, text: str) -> Iterator[_Statement]:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return  # such a cell never ran
    for node in body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
        uses = frozenset(each.id for each in names if isinstance(each.ctx, ast.Load))
        changes = ""
        if isinstance(node, Assignment):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                changes = target.value.id
        yield _Statement(cell, first, node.end_lineno or node.lineno, frozenset(_given(node)), uses, changes)


def _given(node: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a meaning, those inside an `if` or a `try` included."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
    elif isinstance(node, Definition):
        yield node.name
    elif isinstance(node, Assignment):
        yield from (
            each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        )
    elif isinstance(node, ast.If | ast.Try | ast.With):
        for child in ast.iter_child_nodes(node):
            for part in [child] if isinstance(child, ast.stmt) else ast.iter_child_nodes(child):
                if isinstance(part, ast.stmt):
                    yield from _given(part)


def _only(text: str, spans: list[tuple[int, int]]) -> str:
    """The lines of the spans, every other line left empty."""
    lines = text.split("\n")
    last = max(end for _, end in spans)
    keeps = {number for start, end in spans for number in range(start, end + 1)}
    return "\n".join(line if number in keeps else "" for number, line in enumerate(lines[:last], 1)) + "\n"
