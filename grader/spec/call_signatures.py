"""What a reference's class takes, found by parsing: the names that a description gives are held against it."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from grader.spec.exercise import Exercise
from grader.spec.problem import KeyPath, Problem, listed, nearest, quoted
from grader.spec.properties import Property

Function = ast.FunctionDef | ast.AsyncFunctionDef

VARIATION = "Variation"
"""The class that a check's own source defines, whose methods can be called beside those of the submission's."""


class Signature(Struct, frozen=True, kw_only=True):
    """The names that a function takes by keyword, those without a default, and whether it takes any others."""

    names: list[str]
    required: list[str]
    takes_any: bool


def _signature_of(function: Function, *, is_method: bool = True) -> Signature:
    """The signature of a function, or of a method without self."""
    arguments = function.args
    plain = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    required = plain[: len(plain) - len(arguments.defaults)]
    only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    names = [*plain, *(each.arg for each in arguments.kwonlyargs)]
    required += [each.arg for each, default in only if default is None]
    skipped = 1 if is_method else 0
    return Signature(
        names=names[skipped:],
        required=[name for name in required if name in names[skipped:]],
        takes_any=bool(arguments.kwarg),
    )


def _methods_of(tree: ast.Module) -> dict[str, dict[str, Function]]:
    """The classes of a module, each with its methods and those that it inherits in this module."""
    found: dict[str, dict[str, Function]] = {}
    for each in tree.body:
        if isinstance(each, ast.ClassDef):
            bases = [found[ast.unparse(base)] for base in reversed(each.bases) if ast.unparse(base) in found]
            own = {node.name: node for node in each.body if isinstance(node, Function)}
            found[each.name] = {name: method for methods in (*bases, own) for name, method in methods.items()}
    return found


def misnamed_parts(exercise: Exercise, source: str) -> Iterator[Problem]:
    """A class or function, arguments, inputs and methods that a source does not have."""
    tree, interface = ast.parse(source), exercise.interface
    if interface.function:
        functions = {node.name: node for node in tree.body if isinstance(node, Function)}
        if interface.function not in functions:
            path = ("interface", "function")
            yield _unknown("a function of the reference", interface.function, functions, path, is_key=False)
        else:
            yield from _misnamed_in_function(exercise, functions[interface.function])
        return
    classes = _methods_of(tree)
    if interface.class_name not in classes:
        yield _unknown("a class of the reference", interface.class_name, classes, ("interface", "class"), is_key=False)
    elif interface.kind.class_is_module:
        yield from _misnamed_in_module(exercise, classes[interface.class_name])


def _misnamed_in_module(exercise: Exercise, methods: dict[str, Function]) -> Iterator[Problem]:
    yield from _misnamed_arguments(exercise, methods)
    if "forward" in methods:
        forward = _signature_of(methods["forward"])
        yield from _misnamed(forward, exercise.interface.inputs, "an input of forward", ("interface", "inputs"))
    for index, check in enumerate(exercise.checks):
        yield from _misnamed_in_check(check, methods, ("checks", index))


def _misnamed_in_function(exercise: Exercise, function: Function) -> Iterator[Problem]:
    """Names that the function does not take; what only the kit's own model takes is the kind's business."""
    taken, interface = _signature_of(function, is_method=False), exercise.interface
    what = f"an argument of {function.name}"
    yield from _misnamed(taken, interface.inputs, what, ("interface", "inputs"))
    if not interface.kind.adapter_takes_arguments:
        yield from _misnamed(taken, interface.constructor, what, ("interface", "constructor"))
    for index, check in enumerate(exercise.checks):
        yield from _misnamed(taken, check.inputs, what, ("checks", index, "inputs"))


def _misnamed_arguments(exercise: Exercise, methods: dict[str, Function]) -> Iterator[Problem]:
    """Arguments of the constructor that it does not take, and those that it needs and nobody gives."""
    if "__init__" not in methods:
        return
    taken, given = _signature_of(methods["__init__"]), exercise.interface.constructor
    path = ("interface", "constructor")
    yield from _misnamed(taken, given, "an argument of the class", path)
    taken_for = {nearest(name, taken.names) for name in given if name not in taken.names}
    missing = [name for name in taken.required if name not in given and name not in taken_for]
    if missing:
        remedy = f"add {', '.join(f'{name}: {name}' for name in missing)}, and a size of that name to every size case"
        yield Problem(path, "every argument that has no default", f"no {listed(missing, 'or')}", remedy)


def _misnamed_in_check(check: Property, methods: dict[str, Function], path: KeyPath) -> Iterator[Problem]:
    try:
        methods = methods | _methods_of(ast.parse(check.variation_source())).get(VARIATION, {})
    except SyntaxError as error:
        yield Problem((*path, "variation"), "Python", f"{error.msg} in its line {error.lineno}", "mend that line")
        return
    if check.method and check.method not in methods:
        yield _unknown("a method of the class", check.method, methods, (*path, "method"), is_key=False)
        return
    if "__init__" in methods:
        built = _signature_of(methods["__init__"])
        yield from _misnamed(built, check.constructor, "an argument of the class", (*path, "constructor"))
        for index, name in enumerate(check.defaults):
            if name not in built.names and not built.takes_any:
                yield _unknown("an argument of the class", name, built.names, (*path, "defaults", index), is_key=False)
    called = methods.get(check.method or "forward")
    if called is not None:
        what = f"an input of {check.method or 'forward'}"
        yield from _misnamed(_signature_of(called), check.inputs, what, (*path, "inputs"))


def _misnamed(taken: Signature, given: dict[str, Any], what: str, path: KeyPath) -> Iterator[Problem]:
    for name in given:
        if name not in taken.names and not taken.takes_any:
            yield _unknown(what, name, taken.names, (*path, name), is_key=True)


def _unknown(what: str, name: str, known: Iterable[str], path: KeyPath, *, is_key: bool) -> Problem:
    names = list(known)
    near = nearest(name, names) or (names[0] if len(names) == 1 else "")
    remedy = f"write {near}" if near else "write one of them" if names else "take it out"
    return Problem(path, f"{what}: {listed(names, 'or')}", quoted(name), remedy, at_key=is_key)
