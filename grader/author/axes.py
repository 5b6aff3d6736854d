"""The axes of a function's inputs, as its source, its docstring and its layers name them."""

import ast
import re
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


def named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def own_nodes(method: Function) -> Iterator[ast.AST]:
    """The method's nodes, without those of functions inside it."""
    waiting: list[ast.AST] = list(method.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def unpacked_shapes(method: Function) -> Iterator[tuple[str, list[str]]]:
    """Inputs with the names their axes get, as in `b, t, d = x.shape` or `... = x.size()`."""
    for node in own_nodes(method):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)):
            continue
        names = [target.id for target in node.targets[0].elts if isinstance(target, ast.Name)]
        value = node.value.func if isinstance(node.value, ast.Call) and not node.value.args else node.value
        is_shape = isinstance(value, ast.Attribute) and value.attr in ("shape", "size")
        if is_shape and isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            yield value.value.id, names


def masks_with_axes_added(method: Function) -> Iterator[tuple[str, list[str]]]:
    """Masks with the names that their own axes get in `mask[:, None, None, :]`."""
    for node in own_nodes(method):
        for part in ast.walk(node) if isinstance(node, ast.stmt) else ():
            if isinstance(part, ast.Subscript) and "mask" in named(part.value) and isinstance(part.slice, ast.Tuple):
                axes = [axis for axis in part.slice.elts if isinstance(axis, ast.Slice) and axis.step is None]
                if any(isinstance(axis, ast.Constant) and axis.value is None for axis in part.slice.elts):
                    yield named(part.value), ["batch", "tokens", "keys"][: len(axes)]


DOCUMENTED = re.compile(r"(\w+)(?: of shape| of|:)? ?[(\[]((?:\w+,)(?: ?\w+,?)*)[)\]]")
"""An input and its axes in a docstring, as in `scores (queries, items)` or `answers: (queries,)`."""


def documented_shapes(function: Function) -> dict[str, list[str]]:
    """Inputs with the names that the docstring gives their axes."""
    found = DOCUMENTED.findall(ast.get_docstring(function) or "")
    return {name: [axis.strip() for axis in axes.split(",") if axis.strip()] for name, axes in found}


def widths_of_layers(made: Function, forward: Function) -> dict[str, str]:
    """Of each input of forward that goes into a linear layer, the constructor's argument that is its width; under
    `return`, that of what a layer makes of the output.
    """
    layers = dict(_linear_layers(made))
    widths: dict[str, str] = {}
    for node in ast.walk(forward):
        if isinstance(node, ast.Call) and (sizes := layers.get(_layer(node))) and len(node.args) == 1:
            widths.setdefault(named(node.args[0]), sizes[0])
        if isinstance(node, ast.Return) and node.value is not None:
            [first, *_] = node.value.elts if isinstance(node.value, ast.Tuple) and node.value.elts else [node.value]
            if isinstance(first, ast.Call) and (sizes := layers.get(_layer(first))):
                widths["return"] = sizes[1]
    return {name: width for name, width in widths.items() if width}


def _linear_layers(made: Function) -> Iterator[tuple[str, tuple[str, str]]]:
    """Linear layers that a constructor makes, with the names of their widths; empty for what is no plain name."""
    for node in ast.walk(made):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and named(node.value.func) == "Linear":
            sizes = [named(each) if isinstance(each, ast.Name) else "" for each in node.value.args]
            if len(sizes) > 1 and named(node.targets[0]):
                yield named(node.targets[0]), (sizes[0], sizes[1])


def _layer(call: ast.Call) -> str:
    """`to_q` of `self.to_q(x)`."""
    return call.func.attr if isinstance(call.func, ast.Attribute) and named(call.func.value) == "self" else ""
