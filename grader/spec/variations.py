"""Read `variations.py`: classes that a check builds in place of the submission's class.

Each class derives from a class of the submission, which the file imports as `submission`, or from `torch.nn.Module`.
A worker gets one class at a time, with the definitions that it uses.
"""

import ast
from collections.abc import Iterable, Iterator

GIVEN = {"submission", "torch"}
"""Modules that every variation can use. Their imports are left out."""

IMPORTS = (ast.Import, ast.ImportFrom)
DEFINITIONS = (ast.ClassDef, ast.FunctionDef)


def class_names(source: str) -> list[str]:
    """Return the names of the classes in the file. Raises `SyntaxError`."""
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]


def variation_sources(source: str) -> dict[str, str]:
    """Return the source of each class with the imports and definitions that it uses. Raises `SyntaxError`."""
    return {name: source_with(source, [name]) for name in class_names(source)}


def source_with(source: str, names: Iterable[str]) -> str:
    """Return the source of these classes with the imports and definitions that they use, in the order of the file."""
    body = ast.parse(source).body
    defined = {name: node for node in body for name in _names_defined(node)}
    needed, waiting = set[str](), [name for name in names if name in defined]
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting += [each for each in _names_used(defined[name]) if each in defined and each not in needed]
    nodes = [node for node in body if needed & {*_names_defined(node)}]
    imports = [_text(source, node) for node in nodes if isinstance(node, IMPORTS)]
    others = [_text(source, node) for node in nodes if not isinstance(node, IMPORTS)]
    return "\n\n\n".join([*(["\n".join(imports)] if imports else []), *others]) + "\n"


def _names_defined(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement of the file defines; none if every variation has them."""
    if isinstance(node, IMPORTS):
        yield from {each.asname or each.name.partition(".")[0] for each in node.names} - GIVEN
    elif isinstance(node, DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    else:
        for child in ast.iter_child_nodes(node):
            yield from _names_defined(child)


def _names_used(node: ast.stmt) -> Iterator[str]:
    yield from (each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def _text(source: str, node: ast.stmt) -> str:
    """Return the lines of a statement, with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return "\n".join(source.splitlines()[first - 1 : node.end_lineno])
