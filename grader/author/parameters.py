"""A signature's parameters, and what a file does with each: what it compares one with, and what it refuses."""

import ast
import re
from collections.abc import Iterator

from msgspec import Struct, structs

from grader.author.axes import Function, named

Constant = bool | int | float | str | None


class Parameter(Struct, frozen=True):
    """A parameter of a signature; `default` and `annotation` are what can be told from the text.

    `is_unread` tells of a default that is no constant, such as a pair. `words` are the texts that the file compares it
    with; `refused` are a value that the file refuses and the exception; `bounds` are values at which the file does
    something else; `is_capped` tells that it takes no more of it than there is.
    """

    name: str
    is_required: bool
    default: Constant = None
    annotation: str = ""
    is_unread: bool = False
    words: tuple[str, ...] = ()
    refused: tuple[int | float, str] | None = None
    bounds: tuple[int | float, ...] = ()
    is_capped: bool = False


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
    return Parameter(argument.arg, default is None, value, annotation, is_unread)


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
    """The numbers with which a condition compares a parameter, and for whole ones those beside them that tell."""
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
