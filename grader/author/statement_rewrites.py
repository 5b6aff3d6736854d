"""Rewrites of statements that keep their meaning, and the syntax patterns that all rewrites share."""

import ast
from collections.abc import Callable
from typing import Any

from msgspec import Struct


class MethodCall(Struct, frozen=True, kw_only=True):
    """`receiver.name(*args, **keywords)`."""

    receiver: ast.expr
    args: list[ast.expr]
    keywords: list[ast.keyword]


MODULES = ("torch", "F", "nn", "functional", "math", "np", "torch.nn.functional", "nn.functional")
"""Names of modules, which look like receivers."""


def method_of(node: ast.AST | None, *names: str) -> MethodCall | None:
    """Return the parts of a call of one of these tensor methods."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names):
        return None
    if ast.unparse(node.func.value) in MODULES:
        return None
    return MethodCall(receiver=node.func.value, args=node.args, keywords=node.keywords)


def name_of(node: ast.AST) -> str:
    """Return the last part of the called name: `softmax` of `torch.nn.functional.softmax(...)`."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def chain(node: ast.Call) -> list[ast.expr]:
    """Return the positional arguments of a call, starting with the receiver of a method."""
    found = method_of(node, name_of(node))
    return [found.receiver, *found.args] if found else list(node.args)


def call(function: str, *args: ast.expr) -> ast.Call:
    """Make a call with positional arguments."""
    return ast.Call(ast.parse(function, mode="eval").body, list(args), [])


SUFFIX = "_here"


def _locals_renamed(node: ast.AST) -> ast.AST | None:
    """Rename all local names of a function."""
    if not isinstance(node, ast.FunctionDef) or any(_is_scope(each) for each in ast.walk(node) if each is not node):
        return None
    arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    declared = {name for each in ast.walk(node) if isinstance(each, ast.Global | ast.Nonlocal) for name in each.names}
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    stored = {each.id for each in names if isinstance(each.ctx, ast.Store)} - arguments - declared
    for each in names:
        if each.id in stored:
            each.id += SUFFIX
    return node if stored else None


def _is_scope(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.ExceptHandler)


def _returned_by_name(node: ast.AST) -> list[ast.stmt] | None:
    """`return f(x)` -> `result = f(x)`, `return result`."""
    if not isinstance(node, ast.Return) or node.value is None or isinstance(node.value, ast.Name | ast.Constant):
        return None
    target = ast.Name("result" + SUFFIX, ast.Store())
    return [ast.Assign([target], node.value), ast.Return(ast.Name(target.id, ast.Load()))]


def _argument_by_name(node: ast.AST) -> list[ast.stmt] | None:
    """`y = f(g(x))` -> `inner = g(x)`, `y = f(inner)`."""
    value = node.value if isinstance(node, ast.Assign | ast.Return) else None
    if not (isinstance(value, ast.Call) and value.args and isinstance(value.args[0], ast.Call)):
        return None
    if not isinstance(value.func, ast.Attribute | ast.Name) or not _is_simple(value.func):
        return None
    target = f"inner{SUFFIX}"
    inner, value.args[0] = value.args[0], ast.Name(target, ast.Load())
    assert isinstance(node, ast.Assign | ast.Return)
    return [ast.Assign([ast.Name(target, ast.Store())], inner), node]


def _is_simple(node: ast.expr) -> bool:
    """Return whether evaluating an expression has no effect: a name, or an attribute of one."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_simple(node.value))


def _layers_made_in_another_order(node: ast.AST) -> ast.AST | None:
    """Reverse neighbouring layers of a constructor, which changes the order of saved and of random initial weights."""
    if not (isinstance(node, ast.FunctionDef) and node.name == "__init__"):
        return None
    start = 0
    changed = False
    while start < len(node.body):
        end = start
        while end < len(node.body) and _makes_a_layer(node.body[end]):
            end += 1
        if end - start > 1:
            node.body[start:end] = reversed(node.body[start:end])
            changed = True
        start = max(end, start + 1)
    return node if changed else None


def _makes_a_layer(node: ast.stmt) -> bool:
    is_assigned = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)
    value = node.value if isinstance(node, ast.Assign) else None
    return is_assigned and name_of(value) in LAYERS if value is not None else False


LAYERS = ("Linear", "Dropout", "LayerNorm", "Embedding", "Softmax", "ModuleList")


def _forward_through_a_helper(node: ast.AST) -> ast.AST | None:
    """Move the body of forward into another method, which forward calls."""
    if not isinstance(node, ast.ClassDef):
        return None
    forward = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "forward"), None)
    if forward is None or forward.args.vararg or forward.args.kwarg or forward.args.posonlyargs or not _is_own(forward):
        return None
    names = [each.arg for each in forward.args.args[1:]]
    passed = [ast.keyword(each.arg, ast.Name(each.arg, ast.Load())) for each in forward.args.kwonlyargs]
    helper = f"_forward{SUFFIX}"
    target = ast.Attribute(ast.Name("self", ast.Load()), helper, ast.Load())
    done = ast.Call(target, [ast.Name(name, ast.Load()) for name in names], passed)
    inner = ast.parse(ast.unparse(forward)).body[0]
    assert isinstance(inner, ast.FunctionDef)
    inner.name = helper
    forward.body = [ast.Return(done)]
    node.body.insert(node.body.index(forward) + 1, inner)
    return node


def _is_own(forward: ast.FunctionDef) -> bool:
    """Return whether a method can be renamed: it calls no `super()` and has no decorators."""
    return not forward.decorator_list and not any(name_of(each) == "super" for each in ast.walk(forward))


def _old_super(node: ast.AST) -> ast.AST | None:
    """`super().__init__()` -> `nn.Module.__init__(self)` where that is the only base."""
    if not isinstance(node, ast.ClassDef) or [ast.unparse(base) for base in node.bases] != ["nn.Module"]:
        return None
    changed = False
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and ast.unparse(each) == "super().__init__()":
            each.func = ast.parse("nn.Module.__init__", mode="eval").body
            each.args = [ast.Name("self", ast.Load())]
            changed = True
    return node if changed else None


def _raised_for_asserted(node: ast.AST) -> ast.stmt | None:
    """`assert c, m` -> `if not c: raise AssertionError(m)`."""
    if not isinstance(node, ast.Assert):
        return None
    error = ast.Call(ast.Name("AssertionError", ast.Load()), [node.msg] if node.msg else [], [])
    return ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Raise(error)], [])


def _inputs_copied(node: ast.AST) -> ast.AST | None:
    """Let forward begin by copying its input tensors."""
    if not (isinstance(node, ast.FunctionDef) and node.name == "forward" and node.args.args[1:]):
        return None
    first = node.args.args[1].arg
    copied = ast.parse(f"{first} = {first}.clone() if isinstance({first}, torch.Tensor) else {first}").body
    start = 1 if ast.get_docstring(node) else 0
    node.body[start:start] = copied
    return node


STATEMENT_RULES: dict[str, Callable[[ast.AST], Any]] = {
    "locals renamed": _locals_renamed,
    "returned by name": _returned_by_name,
    "argument by name": _argument_by_name,
    "layers in another order": _layers_made_in_another_order,
    "forward through a helper": _forward_through_a_helper,
    "base called by name": _old_super,
    "raise for assert": _raised_for_asserted,
    "inputs copied": _inputs_copied,
}
"""All rules for statements, by name."""
