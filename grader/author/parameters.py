"""Read a function's parameters from its source: defaults, how the file uses them, and other values to try."""

import ast
import copy
import re
from collections.abc import Iterator
from math import copysign, isinf

from msgspec import Struct, structs

Function = ast.FunctionDef | ast.AsyncFunctionDef
Constant = bool | int | float | str | None

PLAIN_VALUE = re.compile(
    r"^(p|k|eps|dim|alpha|beta|gamma|tau|lam|lambda_?|temperature|smoothing|margin|threshold|reduction|ignore_index)$"
    r"|^(num|n|max|min|top|use|is)_|(^|_)(size|len|length|rate|prob|p|k|index|eps|norm|steps|stride|offset|seed|every)$"
)
"""Names of arguments that are not tensors."""
COUNT = re.compile(r"^(k|num_.*|n_.*|.*(size|len|length|steps|stride|offset|every|index))$")
"""Names of whole numbers."""
NOT_VARIED = re.compile(
    r"dropout|drop_?p|^ignore_index$|verbose|debug|print|device|dtype|vocab|(^|_)(generator|rng|dim|axis|classes)$"
)
"""Parameters not varied: tested elsewhere, not observable, or tied to the inputs."""
NUMBER = re.compile(r"clip|scale|limit|bound|cap$|ratio")

TENSORS = re.compile(r"\b(list|sequence|iterable|tuple)\[.*tensor", re.IGNORECASE)
"""Annotations of several tensors in one argument."""

BEYOND_ALL = 1000
"""A number larger than any size."""
SMALL = 3
"""Counts up to this are small: their other value is one more. The other value of a larger count is about its half."""

EDGES = {ast.Lt: (-1, 0), ast.LtE: (0, 1), ast.Gt: (1, 0), ast.GtE: (0, -1)}
"""For each comparison with a whole number, two offsets: to the nearest number that satisfies it, and to the nearest
that does not."""


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter of a signature, and how the file uses it."""

    name: str
    is_required: bool
    default: Constant = None
    annotation: str = ""
    is_keyword_only: bool = False
    is_unread: bool = False
    """Whether its default is not a constant, such as a pair."""
    words: tuple[str, ...] = ()
    """The strings that the file compares it with."""
    refused: tuple[int | float, str] | None = None
    """A value that the file refuses, and the exception."""
    bounds: tuple[int | float, ...] = ()
    """Values on both sides of each bound at which the file behaves differently."""
    is_capped: bool = False
    """Whether the file uses the minimum of this number and the available one."""


def parameters_of(function: Function | None) -> list[Parameter]:
    """Return the parameters that can be given by keyword, in order."""
    if function is None:
        return []
    arguments, defaults = function.args, _defaults(function.args)
    return [
        _parameter(each, defaults.get(each.arg), is_keyword_only=each in arguments.kwonlyargs)
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    ]


def signature_of(function: Function | None, other: Function | None, *, is_method: bool) -> str:
    """Return the parameters as they are written, without annotations and `self`; `...` stands for a default that the
    `other` version of the function does not have.
    """
    if function is None:
        return ""
    shown, others = copy.deepcopy(function.args), _defaults(other.args) if other else {}
    if is_method:
        (shown.posonlyargs or shown.args).pop(0)
    positional = [*shown.posonlyargs, *shown.args]
    for argument in filter(None, (*positional, *shown.kwonlyargs, shown.vararg, shown.kwarg)):
        argument.annotation = None
    known = {name: _shown_default(default, others.get(name)) for name, default in _defaults(function.args).items()}
    shown.defaults = [known[each.arg] for each in positional if each.arg in known]
    shown.kw_defaults = [known.get(each.arg) for each in shown.kwonlyargs]
    return ast.unparse(shown)


def _defaults(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Return the default of each parameter that has one."""
    positional = [*arguments.posonlyargs, *arguments.args]
    given = zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {argument.arg: default for argument, default in (*given, *keywords) if default is not None}


def _shown_default(default: ast.expr, other: ast.expr | None) -> ast.expr:
    is_same = other is not None and ast.unparse(default) == ast.unparse(other)
    return default if is_same else ast.Constant(value=...)


def _parameter(argument: ast.arg, default: ast.expr | None, *, is_keyword_only: bool) -> Parameter:
    value = _constant(default)
    return Parameter(
        name=argument.arg,
        is_required=default is None,
        default=value,
        annotation=ast.unparse(argument.annotation) if argument.annotation else "",
        is_keyword_only=is_keyword_only,
        is_unread=default is not None and value is None and ast.unparse(default) != "None",
    )


def _constant(node: ast.expr | None) -> Constant:
    """Return the value of a literal, or None."""
    if node is not None and re.fullmatch(r"-?(float\('-?inf'\)|(math|torch)\.inf)", text := ast.unparse(node)):
        return float("-inf" if "-" in text else "inf")
    try:
        value = None if node is None else ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, Constant) else None


def name_of(node: ast.expr) -> str:
    """Return `x` for `x` and for `self.x`, and nothing for other expressions."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_plain_value(parameter: Parameter) -> bool:
    """Return whether a parameter is not a tensor, by its annotation or its name."""
    return parameter.annotation in ("int", "float", "bool", "str") or PLAIN_VALUE.search(parameter.name) is not None


def is_list_of_tensors(parameter: Parameter) -> bool:
    """Return whether a parameter takes several tensors, by its annotation."""
    return TENSORS.search(parameter.annotation) is not None


def with_uses(parameter: Parameter, tree: ast.Module) -> Parameter:
    """Return the parameter with its uses in the file, by its own name or as an attribute of that name."""
    name = parameter.name
    words: list[str] = []
    bounds: list[int | float] = []
    refused, is_capped = None, False
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and name_of(node.left) == name:
            constants = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
            words += [each for each in constants if isinstance(each, str)]
        elif isinstance(node, ast.Call) and name_of(node.func) == "min":
            is_capped = is_capped or name in map(name_of, node.args)
        elif isinstance(node, ast.If) and isinstance(raised := node.body[0], ast.Raise):
            error = raised.exc.func if isinstance(raised.exc, ast.Call) else raised.exc
            if refused is None and error and name_of(error):
                refused = next(((value, name_of(error)) for _, value, _ in _bounds(node.test, parameter)), None)
        elif isinstance(node, ast.If | ast.IfExp):
            for bound, *neighbours in (each for part in ast.walk(node.test) for each in _bounds(part, parameter)):
                is_whole = isinstance(bound, int) and not isinstance(parameter.default, float)
                bounds += [bound, *neighbours] if is_whole else [bound]
    return structs.replace(
        parameter,
        words=tuple(dict.fromkeys(words)),
        refused=refused,
        bounds=tuple(dict.fromkeys(bounds)),
        is_capped=is_capped,
    )


def _bounds(test: ast.AST, parameter: Parameter) -> Iterator[tuple[int | float, int | float, int | float]]:
    """Yield the number in a condition on the parameter, a value that satisfies it and a value that fails it."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in EDGES:
        bound = _constant(test.comparators[0])
        if isinstance(bound, int | float) and name_of(test.left) == parameter.name:
            satisfied, violated = EDGES[type(test.ops[0])]
            yield bound, bound + satisfied, bound + violated


def other_values(parameter: Parameter) -> Iterator[tuple[str, Constant]]:
    """Yield values other than the default, each with the ending of its check's name."""
    name, default = parameter.name, parameter.default
    if parameter.is_required or parameter.is_unread or NOT_VARIED.search(name.lower()):
        return
    for bound in parameter.bounds:
        if bound not in (default, *(parameter.refused or ())[:1]):
            yield f"{name}_{re.sub(r'[^0-9]', '_', f'{bound:g}'.replace('-', 'minus_'))}", bound
    if isinstance(default, bool):
        yield f"{name}_{'off' if default else 'on'}", not default
    elif isinstance(default, str):
        known = ["none"] if name == "reduction" else []  # a loss handles it without naming it
        words = dict.fromkeys((*parameter.words, *known))
        yield from ((f"{name}_{re.sub(r'[^A-Za-z0-9_-]+', '_', word)}", word) for word in words if word != default)
    elif isinstance(default, float):
        yield f"other_{name}", _other_float(name, default)
    elif isinstance(default, int):
        yield from _other_counts(name, default, is_capped=parameter.is_capped)
    elif default is None:
        yield from _values_for_none(name, parameter.annotation)


def _other_counts(name: str, default: int, *, is_capped: bool) -> Iterator[tuple[str, int]]:
    if is_capped:
        yield f"{name}_beyond_all", BEYOND_ALL
    if default >= 0:
        yield f"other_{name}", default + 1 if default <= SMALL else default // 2 | 1


def _values_for_none(name: str, annotation: str) -> Iterator[tuple[str, float]]:
    is_number = re.search(r"float|int", annotation) if annotation else PLAIN_VALUE.search(name) or NUMBER.search(name)
    if is_number:
        is_count = "int" in annotation if annotation else COUNT.search(name)
        yield f"{name}_given", 2 if is_count else 0.25


def _other_float(name: str, default: float) -> float:
    if isinf(default):
        return copysign(9.0, default)
    if re.search(r"(^|_)eps", name):
        return 0.01
    return float(f"{default * 0.6:.2g}") if default else 0.25
