"""A file with a fault in it -> the interface that its class shows, found by parsing and never by executing."""

import ast
import re

from msgspec import Struct, structs

from grader.author.parameters import (
    SCALARS,
    Function,
    Parameter,
    documented_shapes,
    masks_with_axes_added,
    named,
    own_nodes,
    parameters_of,
    unpacked_shapes,
    widths_of_layers,
    with_uses,
)
from grader.errors import UsageError
from grader.spec.kinds import KINDS, USUAL_KIND, Definition, Kind, OwnCheck, recognize

PAIRS = re.compile(r"\(0, \w+, 2\b|\.\.\., (0|1)?::2\]|chunk\(2, (dim=)?-1\)|rotate_half")
"""What takes features in pairs."""


class FoundInterface(Struct, frozen=True, kw_only=True):
    """The interface that a source shows, and the parts of the source that a description should check."""

    kind: Kind
    class_name: str
    """The name of the class or function."""
    constructor: list[Parameter]
    forward: list[Parameter]
    axes: dict[str, list[str]] = {}
    """The names of an input's axes, where forward unpacks its shape or a docstring gives it."""
    outputs: int = 1
    others: list[str] = []
    """The file's other modules with a forward."""
    own_checks: tuple[OwnCheck, ...] = ()
    """Those of the kind's checks that the file is made for."""
    refuses_remainders: bool = False
    """Whether the constructor looks at the remainder of a division and may refuse it."""
    guards_nothing: bool = False
    """Whether the file guards against dividing by nothing."""
    halves_features: bool = False
    """Whether it takes features in pairs, as rotary positions do."""
    remembers: bool = False
    """Whether a module keeps something from one call to the next."""
    resets: tuple[str, ...] = ()
    """The methods that forget what it keeps."""
    widths: dict[str, str] = {}
    """See `widths_of_layers`."""
    refuses_lengths: bool = False
    """Whether forward raises or asserts something."""
    has_buffers: bool = False


def find_interface(source: str, name: str) -> FoundInterface:
    """Return the interface of the last module with a forward in the source, or of a class or function of another
    kind.

    `UsageError` where there is none.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        place = f"{name}:{error.lineno}:{error.offset}"
        raise UsageError(f"{place}: cannot be parsed: {error.msg}; start from a file that compiles") from error
    found = _find_entry(tree, name)
    return structs.replace(
        found,
        constructor=[with_uses(each, tree) for each in found.constructor],
        own_checks=tuple(each for each in found.kind.own_checks if re.search(each.pattern, source)),
        halves_features=PAIRS.search(source) is not None,
        has_buffers="register_buffer" in source,
        guards_nothing=re.search(r"\bmax\(|clamp\(|\.any\(\)|== 0\b", source) is not None,
    )


def _find_entry(tree: ast.Module, name: str) -> FoundInterface:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = [node for node in tree.body if isinstance(node, Function) and not node.name.startswith("_")]
    modules = _modules(classes)
    recognized = recognize([*(_class(each, modules) for each in classes), *map(_function, functions)])
    if recognized is None:
        found = ", ".join(each.name for each in classes) or "none"
        raise UsageError(
            f"{name}: no class derived from nn.Module has a forward; the classes found: {found}; nor is there a "
            "function, an optimizer or a dataset"
        )
    kind, definition = recognized
    if kind.is_module:
        return _of_module(definition.name, modules)
    node = next(each for each in [*classes, *functions] if each.name == definition.name)
    return _of_class(node, kind) if isinstance(node, ast.ClassDef) else _of_function(node, kind)


def _class(node: ast.ClassDef, modules: dict[str, dict[str, Function]]) -> Definition:
    return Definition(
        name=node.name,
        is_class=True,
        is_module=node.name in modules,
        bases=" ".join(map(ast.unparse, node.bases)),
        methods=modules.get(node.name) or {each.name for each in node.body if isinstance(each, Function)},
    )


def _function(node: Function) -> Definition:
    return Definition(name=node.name, is_class=False, parameters=[each.name for each in parameters_of(node)])


def _of_module(name: str, modules: dict[str, dict[str, Function]]) -> FoundInterface:
    methods = modules[name]
    forward, constructor = methods["forward"], methods.get("__init__")
    keeping = [name for name, method in methods.items() if name != "__init__" and _keeps_something(method)]
    return FoundInterface(
        kind=KINDS[USUAL_KIND],
        class_name=name,
        constructor=parameters_of(constructor)[1:] if constructor else [],
        forward=parameters_of(forward)[1:],
        axes=dict(masks_with_axes_added(forward)) | dict(unpacked_shapes(forward)),
        outputs=_count_outputs(forward),
        others=[each for each, others in modules.items() if "forward" in others and each != name],
        refuses_remainders=_refuses_remainders(constructor) if constructor else False,
        remembers="forward" in keeping,
        resets=tuple(name for name in keeping if name != "forward" and len(parameters_of(methods[name])) == 1),
        widths=widths_of_layers(constructor, forward) if constructor else {},
        refuses_lengths=any(isinstance(node, ast.Assert | ast.Raise) for node in own_nodes(forward)),
    )


def _modules(classes: list[ast.ClassDef]) -> dict[str, dict[str, Function]]:
    """Return the classes that derive from nn.Module, each with its own and inherited methods."""
    modules: dict[str, dict[str, Function]] = {}
    for each in classes:
        bases = [ast.unparse(base) for base in each.bases]
        if any(base in modules or base.split(".")[-1] == "Module" for base in bases):
            inherited = [modules[base] for base in reversed(bases) if base in modules]
            own = {node.name: node for node in each.body if isinstance(node, Function)}
            modules[each.name] = {name: method for methods in (*inherited, own) for name, method in methods.items()}
    return modules


def _keeps_something(method: Function) -> bool:
    """Whether a method sets an attribute of its module, and so may leave something to the next call."""
    stored = [node for node in ast.walk(method) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return any(named(node.value) == "self" for node in stored)


def _refuses_remainders(method: Function) -> bool:
    nodes = list(own_nodes(method))
    refuses = any(isinstance(node, ast.Assert | ast.Raise) for node in nodes)
    return refuses and any(isinstance(node, ast.Mod) for node in nodes)


def _count_outputs(method: Function) -> int:
    """Return the number of values in the last `return`; one if it cannot be determined."""
    returned = [node.value for node in own_nodes(method) if isinstance(node, ast.Return) and node.value]
    returned.sort(key=lambda value: value.lineno)
    return len(returned[-1].elts) if returned and isinstance(returned[-1], ast.Tuple) else 1


def _of_class(node: ast.ClassDef, kind: Kind) -> FoundInterface:
    made = next((each for each in node.body if isinstance(each, Function) and each.name == "__init__"), None)
    parameters = parameters_of(made)[1 + len(kind.handed_first) :] if made else []
    given, inputs = _split(parameters, kind)
    return FoundInterface(kind=kind, class_name=node.name, constructor=given, forward=inputs)


def _of_function(node: Function, kind: Kind) -> FoundInterface:
    given, inputs = _split(parameters_of(node)[len(kind.handed_first) :], kind)
    axes = documented_shapes(node) | dict(unpacked_shapes(node))
    return FoundInterface(
        kind=kind,
        class_name=node.name,
        constructor=given,
        forward=inputs,
        axes=axes,
        outputs=_count_outputs(node),
    )


def _split(parameters: list[Parameter], kind: Kind) -> tuple[list[Parameter], list[Parameter]]:
    """Return the arguments that belong to the constructor in a description, and those that are inputs."""
    given = [each for each in parameters if kind.own_inputs or not each.is_required or _is_scalar(each)]
    return given, [each for each in parameters if each not in given]


def _is_scalar(parameter: Parameter) -> bool:
    return parameter.annotation in ("int", "float", "bool", "str") or SCALARS.search(parameter.name) is not None
