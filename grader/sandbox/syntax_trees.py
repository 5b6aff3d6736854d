"""Syntax trees of sources: as text that tells methods apart, and as a fingerprint that tells whole sources apart."""

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
"""What a source that behaves by its own text, lines or place has to name; and what names things unseen."""

BEGINNINGS = ("co_", "f_", "tb_", "gi_")
"""Those of the attributes of code, frames and tracebacks."""

NAMES_UNSEEN = {"getattr", "vars", "globals", "locals", "attrgetter", "methodcaller"}
"""What asks for a name that may be put together at run time."""


@functools.cache
def compiled(probe: str) -> types.CodeType:
    """A probe's code; compiling it takes longer than most of what probes do."""
    return compile(probe, "probe", "exec")


def fingerprint(chunks: list[Source]) -> str:
    """The same for sources that differ in layout and comments alone; empty where behaviour may depend on these."""
    digest = hashlib.sha256()
    for chunk in chunks:
        tree = ast.parse(chunk.text)
        if any(_may_read_itself(node) for node in ast.walk(tree)):
            return ""
        digest.update(ast.dump(tree).encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _may_read_itself(node: ast.AST) -> bool:
    """Whether a part of a source may look at its own text, or at where it runs."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        is_seen = name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
        if name in NAMES_UNSEEN and not is_seen:
            return True
    return any(name in READS_ITSELF for name in _names(node)) or (
        isinstance(node, ast.Attribute) and node.attr.startswith(BEGINNINGS)
    )


def _names(node: ast.AST) -> Iterator[str]:
    """The names that stand in a node itself, a text's as well."""
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
    """The syntax tree of each method and function, as text without positions and docstrings, by `Class.method`."""
    methods: dict[str, str] = {}
    try:
        for tree in trees:
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    for part in node.body:
                        if isinstance(part, ast.FunctionDef):
                            methods[f"{node.name}.{part.name}"] = _tree_text(part)
                elif isinstance(node, ast.FunctionDef):
                    methods[node.name] = _tree_text(node)
    except RecursionError:
        return {}
    return methods if sum(map(len, methods.values())) <= MAX_TREE_TEXT else {}


def _tree_text(node: object) -> str:
    """A syntax tree as text that does not depend on Python's version: fields that are empty are left out."""
    if isinstance(node, list):
        return "[" + ",".join(_tree_text(item) for item in node if not _is_docstring(item)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    return f"{type(node).__name__}(" + ",".join(f"{name}={_tree_text(value)}" for name, value in fields) + ")"


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def operation_at(code: types.CodeType, instruction: int, lines: list[str]) -> str:
    """What a function was doing at an instruction: the name it called or asked for, else the kind of operation.

    Empty where that cannot be told.
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
