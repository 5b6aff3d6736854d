"""Patterns of syntax trees that rewrites look for, and the pieces that they put together."""

import ast

from msgspec import Struct


class MethodCall(Struct, frozen=True):
    """`receiver.name(*args, **keywords)`."""

    receiver: ast.expr
    args: list[ast.expr]
    keywords: list[ast.keyword]


MODULES = ("torch", "F", "nn", "functional", "math", "np", "torch.nn.functional", "nn.functional")
"""What looks like a receiver and is a module."""


def method_of(node: ast.AST | None, *names: str) -> MethodCall | None:
    """The parts of a call of a tensor's method of one of these names."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names):
        return None
    if ast.unparse(node.func.value) in MODULES:
        return None
    return MethodCall(node.func.value, node.args, node.keywords)


def name_of(node: ast.AST) -> str:
    """The last word of what is called: `softmax` of `torch.nn.functional.softmax(...)`."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def chain(node: ast.Call) -> list[ast.expr]:
    """The arguments of a function by position, the receiver of a method first."""
    found = method_of(node, name_of(node))
    return [found.receiver, *found.args] if found else list(node.args)


def call(function: str, *args: ast.expr) -> ast.Call:
    """A call by position."""
    return ast.Call(ast.parse(function, mode="eval").body, list(args), [])
