"""Syntax trees of sources: as text for each method, and as a fingerprint of the whole source."""

import ast
import functools
import hashlib
import types
from collections.abc import Iterator
from itertools import islice

from grader.sandbox.protocol import MAX_TREE_TEXT, Source

READS_ITSELF = {
    *("__file__", "__code__", "__traceback__", "__cached__", "__loader__", "__spec__", "__import__", "__builtins__"),
    *("linecache", "inspect", "traceback", "tokenize", "importlib", "pkgutil", "dis", "gc", "faulthandler", "pdb"),
    *("_getframe", "_current_frames", "currentframe", "settrace", "setprofile", "exec", "eval", "compile", "open"),
    *("stack_info", "stacklevel", "lineno", "findCaller", "warn_explicit"),
}
"""Names that a source needs to read its own text, lines or location, or to run code from a string."""

INSPECTING_PREFIXES = ("co_", "f_", "tb_", "gi_")
"""Beginnings of the attributes of code, frames, tracebacks and generators."""

DYNAMIC_LOOKUPS = {"getattr", "vars", "globals", "locals", "attrgetter", "methodcaller"}
"""Functions that look up names which may be computed at run time."""


BLOCK_ITEMS = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""The kinds of items in the blocks of a compound statement."""

PLACE_LENGTH = 8


@functools.cache
def compiled(variation: str) -> types.CodeType:
    """Return a variation's code, cached: compiling takes longer than running most variations."""
    return compile(variation, "variation", "exec")


def fingerprint(chunks: list[Source]) -> str:
    """Return the same text for sources that differ only in layout and comments; empty if they may read these."""
    digest = hashlib.sha256()
    for chunk in chunks:
        tree = ast.parse(chunk.text)
        if any(_may_read_itself(node) for node in ast.walk(tree)):
            return ""
        digest.update(ast.dump(tree).encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _may_read_itself(node: ast.AST) -> bool:
    """Return whether a node may read the source's own text, or where it runs."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        is_constant = name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
        if name in DYNAMIC_LOOKUPS and not is_constant:
            return True
    return any(name in READS_ITSELF for name in _names(node)) or (
        isinstance(node, ast.Attribute) and node.attr.startswith(INSPECTING_PREFIXES)
    )


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names in a node itself, including the content of a string."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.alias):
        yield from node.name.split(".")
    elif isinstance(node, ast.ImportFrom):
        yield from (node.module or "").split(".")
    elif isinstance(node, ast.keyword):
        yield node.arg or ""
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def method_trees(trees: list[ast.Module]) -> dict[str, str]:
    """Return the syntax tree of each method and function by `Class.method`: text with one line for each statement.

    Positions and docstrings are omitted.
    """
    methods: dict[str, str] = {}
    try:
        for tree in trees:
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    for part in node.body:
                        if isinstance(part, ast.FunctionDef):
                            methods[f"{node.name}.{part.name}"] = "\n".join(_statements(part))
                elif isinstance(node, ast.FunctionDef):
                    methods[node.name] = "\n".join(_statements(node))
    except (RecursionError, ValueError):  # too deep, or a number with too many digits to be written
        return {}
    return methods if sum(map(len, methods.values())) <= MAX_TREE_TEXT else {}


def _statements(node: ast.AST, place: str = "") -> Iterator[str]:
    """Yield a statement's tree and those of the statements in it, each after a digest of the statements around it.

    So two equal statements differ if only one of them is under a condition.
    """
    fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
    blocks = {name for name, value in fields if isinstance(value, list) and isinstance(value[0], BLOCK_ITEMS)}
    own = ",".join(f"{name}={_tree_text(value)}" for name, value in fields if name not in blocks)
    line = f"{place}{type(node).__name__}({own})"
    yield line
    for name, value in fields:
        if name in blocks:
            inner = hashlib.sha256(f"{line}{name}".encode("utf-8", "surrogatepass")).hexdigest()[:PLACE_LENGTH]
            for each in value:
                if not is_docstring(each):
                    yield from _statements(each, inner)


def _tree_text(node: object) -> str:
    """Return a syntax tree as text. Empty fields are omitted, so that it does not depend on Python's version."""
    if isinstance(node, list):
        return "[" + ",".join(_tree_text(item) for item in node if not is_docstring(item)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    return f"{type(node).__name__}(" + ",".join(f"{name}={_tree_text(value)}" for name, value in fields) + ")"


def is_docstring(node: object) -> bool:
    """Return whether a statement consists of a string."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def operation_at(code: types.CodeType, instruction: int, lines: list[str]) -> str:
    """Return the operation at an instruction: the name that is called or read, else the kind of operation.

    Empty if the code has no positions.
    """
    try:
        first, last, start, end = next(islice(code.co_positions(), instruction // 2, None))
        if first is None or last is None or start is None or end is None:
            return ""
        text = [line.encode("utf-8", "replace") for line in lines[first - 1 : last]]
        text[-1] = text[-1][:end]
        text[0] = text[0][start:]
        node: ast.AST = ast.parse(b"(" + b"\n".join(text) + b"\n)", mode="eval").body
    except (SyntaxError, ValueError, IndexError, StopIteration, RecursionError, MemoryError):
        return "statement"
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.BinOp):
        node = node.op
    return node.id if isinstance(node, ast.Name) else type(node).__name__
