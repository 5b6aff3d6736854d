"""First-order mutants of a reference: each differs from it in one place, in a way that people get things wrong."""

import ast
import difflib
from collections.abc import Callable, Iterable, Iterator

import libcst as cst
from msgspec import Struct

from grader.author.attention_mutants import ATTENTION_OPERATORS
from grader.author.module_mutants import MODULE_OPERATORS
from grader.author.parsed_source import ParsedSource, Swap
from grader.author.plain_mutants import PLAIN_OPERATORS

Operator = Callable[[cst.CSTNode, ParsedSource], Iterable[Swap]]

OPERATORS: dict[str, Operator] = {**PLAIN_OPERATORS, **ATTENTION_OPERATORS, **MODULE_OPERATORS}
"""Every operator by its name."""


class Mutant(Struct, frozen=True):
    """A changed source: the operator that made it, the line it changed, and the change as a unified diff."""

    operator: str
    line: int
    diff: str
    text: str

    def change(self) -> tuple[str, str]:
        """The lines before and after, without their common indentation."""
        lines = self.diff.splitlines()[1:]
        before, after = ([line[1:] for line in lines if line.startswith(sign)] for sign in "-+")
        return plain_lines("\n".join(before)), plain_lines("\n".join(after))


def mutants_of(source: str, operators: dict[str, Operator] = OPERATORS) -> list[Mutant]:
    """The mutants of a source, no two with the same syntax tree and none with the source's own."""
    parsed = ParsedSource(source)
    seen = {_tree(source)}
    mutants = []
    for operator, line, text in _changed_texts(parsed, operators):
        tree = _tree(text)
        if tree and tree not in seen:
            seen.add(tree)
            mutants.append(Mutant(operator, line, _diff(source, text), text))
    return sorted(mutants, key=lambda mutant: mutant.line)


def plain_lines(text: str) -> str:
    """Lines without outer blanks and indentation, for comparing fragments of code."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _changed_texts(parsed: ParsedSource, operators: dict[str, Operator]) -> Iterator[tuple[str, int, str]]:
    for node in parsed.nodes():
        for name, operator in operators.items():
            for swap in operator(node, parsed):
                yield name, parsed.line(node), parsed.changed(swap)


def _tree(text: str) -> str:
    """A source's syntax tree as text; empty where it cannot be parsed."""
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return ""


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return "\n".join(list(lines)[2:])
