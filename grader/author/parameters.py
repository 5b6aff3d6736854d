"""A function's parameters by its source: defaults, uses, the axes of its inputs, and other values to try."""

import ast
import re
from collections.abc import Iterator
from math import copysign, isinf

from msgspec import Struct, structs

Function = ast.FunctionDef | ast.AsyncFunctionDef
Constant = bool | int | float | str | None


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter of a signature, and how the file uses it."""

    name: str
    is_required: bool
    default: Constant = None
    annotation: str = ""
    is_unread: bool = False
    """Whether it has a default that is no constant, such as a pair."""
    words: tuple[str, ...] = ()
    """The texts that the file compares it with."""
    refused: tuple[int | float, str] | None = None
    """A value that the file refuses, and the exception."""
    bounds: tuple[int | float, ...] = ()
    """Values at which the file does something else."""
    is_capped: bool = False
    """Whether the file uses the minimum of this number and the available one."""


def parameters_of(method: Function) -> list[Parameter]:
    """What can be handed over by keyword, in order."""
    arguments = method.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    pairs = list(zip(positional, [*defaults, *arguments.defaults], strict=True))
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [_parameter(argument, default) for argument, default in pairs]


def _parameter(argument: ast.arg, default: ast.expr | None) -> Parameter:
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    value = _constant(default)
    is_unread = default is not None and value is None and ast.unparse(default) != "None"
    return Parameter(
        name=argument.arg, is_required=default is None, default=value, annotation=annotation, is_unread=is_unread
    )


def with_uses(parameter: Parameter, tree: ast.Module) -> Parameter:
    """The parameter with what it is compared with, under its own name or as an attribute of that name."""
    comparisons = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    words = dict.fromkeys(
        word.value
        for node in comparisons
        if named(node.left) == parameter.name
        for word in ast.walk(node)
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    )
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.If | ast.IfExp)]
    refusals = (_refused(node, parameter.name) for node in tests if isinstance(node, ast.If))
    bounds = dict.fromkeys(
        bound
        for node in tests
        if not (isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise))
        for bound in _bounds(node.test, parameter)
    )
    capped = any(
        isinstance(node, ast.Call) and named(node.func) == "min" and parameter.name in map(named, node.args)
        for node in ast.walk(tree)
    )
    refused = next(filter(None, refusals), None)
    return structs.replace(parameter, words=tuple(words), refused=refused, bounds=tuple(bounds), is_capped=capped)


BEYOND = {ast.Lt: -1, ast.LtE: 1, ast.Gt: 1, ast.GtE: -1}
"""On which side of a bound lies the whole number at which a comparison with the next one tells another answer."""


def _bounds(test: ast.expr, parameter: Parameter) -> Iterator[int | float]:
    """Return the numbers that a condition compares with a parameter, and the neighbours of whole numbers that change
    the result.
    """
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in BEYOND:
            bound = _constant(node.comparators[0])
            if isinstance(bound, int | float) and named(node.left) == parameter.name:
                yield bound
                if isinstance(bound, int) and not isinstance(parameter.default, float):
                    yield bound + BEYOND[type(node.ops[0])]


OUTSIDE = {ast.Lt: -1, ast.LtE: 0, ast.Gt: 1, ast.GtE: 0}
"""How far from the bound is what a comparison holds for."""


def _refused(node: ast.If, name: str) -> tuple[int | float, str] | None:
    """A value for which `if name < bound: raise error` raises, and the error."""
    first, test = node.body[0], node.test
    if not (isinstance(first, ast.Raise) and first.exc and isinstance(test, ast.Compare) and len(test.ops) == 1):
        return None
    bound = _constant(test.comparators[0])
    error = named(first.exc.func) if isinstance(first.exc, ast.Call) else named(first.exc)
    if not isinstance(bound, int | float) or type(test.ops[0]) not in OUTSIDE or named(test.left) != name or not error:
        return None
    return bound + OUTSIDE[type(test.ops[0])], error


def _constant(default: ast.expr | None) -> Constant:
    """What a default is, where it is written out: numbers with a sign, too."""
    if default is not None and re.fullmatch(r"-?(float\('-?inf'\)|(math|torch)\.inf)", text := ast.unparse(default)):
        return float("-inf" if "-" in text else "inf")
    try:
        value = None if default is None else ast.literal_eval(default)
    except ValueError:
        return None
    return value if isinstance(value, Constant) else None


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


SCALARS = re.compile(
    r"^(p|k|eps|dim|alpha|beta|gamma|tau|lam|lambda_?|temperature|smoothing|margin|threshold|reduction|ignore_index)$"
    r"|^(num|n|max|min|top|use|is)_|(^|_)(size|len|length|rate|prob|p|k|index|eps|norm|steps|stride|offset|seed|every)$"
)
"""Names of arguments that are passed unchanged."""

NO_OTHER = re.compile(
    r"dropout|drop_?p|^ignore_index$|verbose|debug|print|device|dtype|vocab|(^|_)(generator|rng|dim|axis|classes)$"
)
"""Parameters not varied: tested elsewhere, not observable, or tied to the inputs."""
TINY = re.compile(r"(^|_)eps")
NUMBER = re.compile(r"clip|scale|limit|bound|cap$|ratio")
OTHER_SHARE, SMALLER, SOME_EPS, SMALL, SOME_FILL = 0.25, 0.6, 0.01, 3, 9.0


def other_values(parameter: Parameter) -> Iterator[tuple[str, Constant]]:
    """Values that a parameter with a default may be given besides, each with how a check with it may be called."""
    name, default = parameter.name, parameter.default
    if parameter.is_required or parameter.is_unread or NO_OTHER.search(name.lower()):
        return
    yield from _boundary_values(parameter)
    if isinstance(default, bool):
        yield f"{name}_{'off' if default else 'on'}", not default
    elif isinstance(default, str):
        for word in dict.fromkeys((*parameter.words, *(NO_REDUCTION if name == "reduction" else ()))):
            if word != default:
                yield f"{name}_{re.sub(r'[^A-Za-z0-9_-]+', '_', word)}", word
    elif isinstance(default, float):
        yield f"other_{name}", _other_float(name, default)
    elif isinstance(default, int) and default >= 0:
        yield f"other_{name}", default // 2 | 1 if default > SMALL else default + 1
    elif default is None and re.search(r"float|int", parameter.annotation):
        yield f"{name}_given", 2 if "int" in parameter.annotation else OTHER_SHARE
    elif default is None and not parameter.annotation and (SCALARS.search(name) or NUMBER.search(name)):
        yield f"{name}_given", 2 if COUNT.search(name) else OTHER_SHARE


def _boundary_values(parameter: Parameter) -> Iterator[tuple[str, Constant]]:
    """Values at which the file begins to do something else."""
    for bound in parameter.bounds:
        if bound != parameter.default and bound not in (parameter.refused or ())[:1]:
            yield f"{parameter.name}_{_as_identifier(bound)}", bound
    if parameter.is_capped and isinstance(parameter.default, int):
        yield f"{parameter.name}_beyond_all", BEYOND_ALL


NO_REDUCTION = ("none",)
"""A reduction that a loss handles without naming it, beside those that it compares with."""

BEYOND_ALL = 1000
"""More than there is of anything that is tried."""

COUNT = re.compile(r"^(k|num_.*|n_.*|.*(size|len|length|steps|stride|offset|every|index))$")
"""Names of whole numbers."""


def _as_identifier(number: float) -> str:
    """A number as part of a check's name."""
    return re.sub(r"[^0-9]", "_", f"{number:g}".replace("-", "minus_"))


def _other_float(name: str, default: float) -> float:
    if isinf(default):
        return copysign(SOME_FILL, default)
    if TINY.search(name):
        return SOME_EPS
    return float(f"{default * SMALLER:.2g}") if default else OTHER_SHARE
