"""Syntax trees of sources: as text that tells methods apart, and as a fingerprint that tells whole sources apart."""

import ast
import hashlib

from grader.worker.protocol import MAX_TREE_TEXT, Source


def fingerprint(chunks: list[Source]) -> str:
    """The same for sources that differ in layout and comments alone."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(ast.dump(ast.parse(chunk.text)).encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


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
