"""Check the names in an exercise.yaml against the signatures in a source, which is parsed but not run."""

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from msgspec import Struct, structs

from grader.spec.exercise import Exercise
from grader.spec.problem import KeyPath, Problem, listed, nearest, quoted
from grader.spec.properties import Property

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Signature(Struct, frozen=True, kw_only=True):
    """The keyword arguments of a function."""

    names: list[str]
    required: list[str]
    """The names without a default."""
    by_position: list[str]
    """The names that may also be passed by position, in order."""
    takes_any: bool
    """Whether it has `**kwargs`."""


def _signature_of(function: Function, *, is_method: bool = True) -> Signature:
    """Return the signature of a function, or of a method without `self`."""
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
        by_position=plain[skipped:],
        takes_any=bool(arguments.kwarg),
    )


def _methods_of(tree: ast.Module) -> dict[str, dict[str, Function]]:
    """Return the methods of each class in a module, with those inherited from other classes of the module."""
    classes: dict[str, dict[str, Function]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = [classes[ast.unparse(base)] for base in reversed(node.bases) if ast.unparse(base) in classes]
            own = {method.name: method for method in node.body if isinstance(method, Function)}
            classes[node.name] = {name: method for methods in (*bases, own) for name, method in methods.items()}
    return classes


def name_problems(exercise: Exercise, source: str) -> Iterator[Problem]:
    """Yield a problem for each class, function, argument, input and method that the source does not have.

    Required arguments that the exercise.yaml does not give are problems too.
    """
    tree, interface = ast.parse(source), exercise.interface
    functions = {node.name: node for node in tree.body if isinstance(node, Function)}
    classes = _methods_of(tree)
    part, known = ("function", [*functions]) if interface.function else ("class", [*classes])
    if interface.entry() not in known:
        yield _unknown(f"a {part} of the reference", interface.entry(), known, ("interface", part), is_key=False)
    elif interface.function:
        yield from _problems_in_call(exercise, _signature_of(functions[interface.function], is_method=False))
    elif interface.kind.class_is_module:
        yield from _problems_in_module(exercise, classes[interface.class_name])
    elif "__init__" in classes[interface.class_name]:
        yield from _problems_in_call(exercise, _signature_of(classes[interface.class_name]["__init__"]))


def _problems_in_module(exercise: Exercise, methods: dict[str, Function]) -> Iterator[Problem]:
    if "__init__" in methods:
        signature, given = _signature_of(methods["__init__"]), exercise.interface.constructor
        yield from _unknown_arguments(signature, given, "an argument of the class", ("interface", "constructor"))
        yield from _missing_arguments(signature, given, ("interface", "constructor"))
        yield from _order_problems(exercise, signature, [])
    if "forward" in methods:
        forward = _signature_of(methods["forward"])
        yield from _unknown_arguments(
            forward, exercise.interface.inputs, "an input of forward", ("interface", "inputs")
        )
        yield from _missing_arguments(forward, exercise.interface.inputs, ("interface", "inputs"))
    for index, check in enumerate(exercise.checks):
        name = check.variation_class()
        if name in exercise.variations:
            own = _methods_of(ast.parse(exercise.variations[name]))[name]
            yield from _problems_in_check(check, methods | own, ("checks", index))
        elif not name:
            yield from _problems_in_check(check, methods, ("checks", index))


def _problems_in_call(exercise: Exercise, signature: Signature) -> Iterator[Problem]:
    """Yield a problem for each name that is not an argument of a function, or of a class that is not a module.

    The kit passes the first arguments itself. The kind's adapter takes further arguments, and sometimes the inputs.
    """
    interface = exercise.interface
    kind = interface.kind
    own = structs.replace(
        signature,
        names=signature.names[len(kind.handed_first) :],
        required=[name for name in signature.required if name not in signature.names[: len(kind.handed_first)]],
    )
    takes_inputs = bool(interface.function) or kind.is_built_from_inputs
    with_adapter = structs.replace(own, names=[*own.names, *kind.adapter_arguments])
    expected = f"an argument of {interface.entry()}"
    if takes_inputs:
        yield from _unknown_arguments(own, interface.inputs, expected, ("interface", "inputs"))
    yield from _unknown_arguments(with_adapter, interface.constructor, expected, ("interface", "constructor"))
    given = {**interface.constructor, **(interface.inputs if takes_inputs else {})}
    yield from _missing_arguments(own, given, ("interface", "constructor"))
    if takes_inputs:
        yield from _given_twice(interface.constructor, interface.inputs, ("interface", "constructor"))
    if kind.has_calling_variants:
        yield from _order_problems(exercise, own, [*interface.inputs])
    for index, check in enumerate(exercise.checks):
        path: KeyPath = ("checks", index)
        if takes_inputs:
            called, caller = _called_signature(exercise, check) or own, check.variation_class() or interface.entry()
            yield from _unknown_arguments(called, check.inputs, f"an argument of {caller}", (*path, "inputs"))
            settings = [name for name in {**interface.constructor, **check.constructor} if name not in check.defaults]
            yield from _given_twice(check.inputs, settings, (*path, "inputs"))
        yield from _unknown_arguments(with_adapter, check.constructor, expected, (*path, "constructor"))
        yield from _unknown_defaults(with_adapter, check, expected, path)


def _called_signature(exercise: Exercise, check: Property) -> Signature | None:
    """Return the signature of the method that takes a check's inputs, if the check has a variation."""
    name = check.variation_class()
    source = exercise.variations.get(name)
    forward = _methods_of(ast.parse(source)).get(name, {}).get("forward") if source else None
    return _signature_of(forward) if forward else None


def _given_twice(given: Collection[str], others: Collection[str], path: KeyPath) -> Iterator[Problem]:
    """Yield a problem for each argument that is given as an input and in `constructor`."""
    remedy = "remove it here, or name it under defaults of the check" if path[0] == "checks" else "remove it here"
    for name in given:
        if name in others:
            yield Problem(
                path=(*path, name),
                expected="each argument once: in constructor or among the inputs",
                found=f"{name} in both",
                remedy=remedy,
                at_key=True,
            )


def _order_problems(exercise: Exercise, signature: Signature, inputs: list[str]) -> Iterator[Problem]:
    """Yield a problem if calling variants cannot pass the constructor arguments by position, after the inputs.

    Other problems are reported first: names that the signature does not have, and arguments that are missing.
    """
    interface = exercise.interface
    given = {*inputs, *interface.constructor}
    if (
        interface.constructor_keyword_only
        or not given.issubset(signature.names)
        or not given.issuperset(signature.required)
    ):
        return
    for position, name in enumerate(interface.constructor, len(inputs)):
        right = signature.by_position[position] if position < len(signature.by_position) else ""
        if name != right:
            by_keyword = "write constructor_keyword_only: true"
            yield Problem(
                path=("interface", "constructor", name),
                expected="arguments in the order of the signature, without gaps, as some calls pass them by position",
                found=name,
                remedy=f"write {right} first, or {by_keyword}" if right in signature.names[position:] else by_keyword,
                at_key=True,
            )
            return


def _missing_arguments(signature: Signature, given: Collection[str], path: KeyPath) -> Iterator[Problem]:
    """Yield a problem for required arguments that are not given. Some may be given under misspelt names."""
    unknown = [name for name in given if name not in signature.names]
    missing = [name for name in signature.required if name not in given]
    if len(missing) > len(unknown):
        matched = {nearest(name, missing) for name in unknown}
        missing = [name for name in missing if name not in matched]
        shape = "[batch, tokens]" if path[-1] == "inputs" else "2"
        names = ", ".join(f"{name}: {shape}" for name in missing)
        value = "a shape or another input" if path[-1] == "inputs" else "a value or the name of a size"
        yield Problem(
            path=path,
            expected="every argument that has no default",
            found=f"no {listed(missing, 'or')}",
            remedy=f"add {names}, with {value} for each",
        )


def _unknown_defaults(signature: Signature, check: Property, expected: str, path: KeyPath) -> Iterator[Problem]:
    for index, name in enumerate(check.defaults):
        if name not in signature.names and not signature.takes_any:
            yield _unknown(expected, name, signature.names, (*path, "defaults", index), is_key=False)


def _problems_in_check(check: Property, methods: dict[str, Function], path: KeyPath) -> Iterator[Problem]:
    if check.method and check.method not in methods:
        yield _unknown("a method of the class", check.method, methods, (*path, "method"), is_key=False)
        return
    if "__init__" in methods:
        built = _signature_of(methods["__init__"])
        yield from _unknown_arguments(built, check.constructor, "an argument of the class", (*path, "constructor"))
        yield from _unknown_defaults(built, check, "an argument of the class", path)
    called = methods.get(check.method or "forward")
    if called is not None:
        expected = f"an input of {check.method or 'forward'}"
        yield from _unknown_arguments(_signature_of(called), check.inputs, expected, (*path, "inputs"))


def _unknown_arguments(signature: Signature, given: dict[str, Any], expected: str, path: KeyPath) -> Iterator[Problem]:
    for name in given:
        if name not in signature.names and not signature.takes_any:
            yield _unknown(expected, name, signature.names, (*path, name), is_key=True)


def _unknown(expected: str, name: str, known: Iterable[str], path: KeyPath, *, is_key: bool) -> Problem:
    names = list(known)
    near = nearest(name, names) or (names[0] if len(names) == 1 else "")
    remedy = f"write {near}" if near else "write one of these names" if names else "remove it"
    return Problem(
        path=path, expected=f"{expected}: {listed(names, 'or')}", found=quoted(name), remedy=remedy, at_key=is_key
    )
