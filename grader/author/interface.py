"""Find the interface in the source of a faulty file. The file is parsed and not executed."""

import ast
import re
from collections.abc import Collection, Iterator
from itertools import chain

from msgspec import Struct

from grader.author.parameters import (
    Function,
    Parameter,
    is_list_of_tensors,
    is_plain_value,
    name_of,
    parameters_of,
    with_uses,
)
from grader.errors import UsageError
from grader.spec.kinds import KINDS, Definition, Kind, OwnCheck, recognize
from grader.spec.problem import listed

HALVES_FEATURES = re.compile(r"\(0, \w+, 2\b|\.\.\., (0|1)?::2\]|chunk\(2, (dim=)?-1\)|rotate_half")
GUARDS_EMPTY = re.compile(r"\bmax\(|clamp\(|\.any\(\)|== 0\b")

DOCUMENTED = re.compile(r"(\w+)(?: of shape| of|:)? ?[(\[]((?:\w+,)(?: ?\w+,?)*)[)\]]")
"""An input and its axes in a docstring, as in `scores (queries, items)` or `answers: (queries,)`."""

IMAGE_AXES = ("height", "breadth")

BATCH_STATISTICS: dict[str, tuple[str, ...]] = {
    r"(?<!class )\bBatchNorm1d\(": (),
    r"(?<!class )\bBatchNorm2d\(|[(\[]0, 2, 3[)\]]": IMAGE_AXES,
}
"""Layers that take statistics over a batch, with the axes that an input has after its samples and features."""

STATISTICS_BY_HAND: dict[str, tuple[str, ...]] = {
    r"\.(mean|var|std)\((dim=)?[(\[]0, 2[)\]]": ("tokens",),
    r"\.(mean|var|std)\((dim=)?\(?0\b": (),
}
"""The same for a module that keeps averages in buffers of its own."""

RUNNING = re.compile(r"run|mean|var|std|av(g|erage)|ema|count|seen|batches")
"""Likely names of buffers that training changes. Only these count if the file never reads the module's mode."""


class FoundInterface(Struct, frozen=True, kw_only=True):
    """The interface that was found in a source, and the parts of the source that a description should check."""

    kind: Kind
    class_name: str
    """The name of the class or function."""
    constructor: list[Parameter]
    forward: list[Parameter]
    entry: Function | None = None
    """The function, or the constructor of the class."""
    axes: dict[str, list[str]] = {}
    """The names of an input's axes, where the source shows them."""
    outputs: int = 1
    output_names: list[str] = []
    """The keys or fields of the outputs, in the order in which they are compared, where the source shows them."""
    others: list[str] = []
    """The file's other modules with a forward."""
    own_checks: tuple[OwnCheck, ...] = ()
    """The kind's own checks whose pattern the file contains."""
    refuses_remainders: bool = False
    """Whether the constructor may refuse a size because a division leaves a remainder."""
    guards_empty: bool = False
    """Whether the file handles inputs in which everything is ignored or masked."""
    halves_features: bool = False
    """Whether the file uses features in pairs, as rotary positions do."""
    remembers: bool = False
    """Whether forward sets an attribute of its module."""
    resets: tuple[str, ...] = ()
    """The methods without arguments that set an attribute of the module."""
    widths: dict[str, str] = {}
    """See `_widths_of_layers`."""
    refuses_inputs: bool = False
    """Whether forward raises or asserts something."""
    is_causal: bool = False
    """Whether the name or the docstring of the class says so."""
    has_buffers: bool = False
    trains_buffers: bool = False
    """Whether calls in training mode change a buffer, such as a running average."""
    batch_statistics: tuple[str, ...] | None = None
    """The axes after the features of an input that is normalized by statistics of its batch; None for other inputs."""

    def learns_statistics(self) -> bool:
        """Return whether calls in training mode change the outputs of later calls in evaluation mode."""
        return self.trains_buffers or self.batch_statistics is not None

    def lists_of_tensors(self) -> list[str]:
        """Return the required inputs that the source annotates as a list of tensors, which no check can make."""
        return [each.name for each in self.forward if each.is_required and is_list_of_tensors(each)]

    def takes_by_position(self, names: Collection[str]) -> bool:
        """Return whether the constructor takes these arguments by position, in this order."""
        return [*names] == [each.name for each in self.constructor if not each.is_keyword_only][: len(names)]

    def parameter(self, name: str) -> Parameter:
        """Return a parameter of the constructor; an argument of the kit's adapter becomes a parameter without a
        default.
        """
        return next((each for each in self.constructor if each.name == name), Parameter(name=name, is_required=True))


def find_interface(source: str, file: str) -> FoundInterface:
    """Return the interface of the last module with a forward, or else of a class or function of another kind.

    Raises `UsageError` if the source cannot be parsed or defines no subject.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        place = f"{file}:{error.lineno}:{error.offset}"
        raise UsageError(f"{place}: cannot be parsed: {error.msg}; start from a file that compiles") from error
    classes, functions = _classes(tree), _functions(tree)
    modules = _modules(classes)
    definitions = [*(_describe(node, modules) for node in classes.values()), *map(_describe, functions.values())]
    recognized = recognize(definitions)
    if recognized is None:
        others = listed((each.phrase() for each in KINDS.values() if not each.is_module), "or")
        raise UsageError(
            f"{file}: no class derived from nn.Module has a forward; the classes found: "
            f"{', '.join(classes) or 'none'}; nor is there {others}"
        )
    return _read(source, tree, recognized[0], recognized[1].name)


def read_interface(source: str, kind: Kind, name: str) -> FoundInterface | None:
    """Return the interface of the class or function of this name, as a kind; None if the source does not define it."""
    tree = ast.parse(source)
    return _read(source, tree, kind, name) if name in {**_classes(tree), **_functions(tree)} else None


def _read(source: str, tree: ast.Module, kind: Kind, name: str) -> FoundInterface:
    classes, functions = _classes(tree), _functions(tree)
    modules = _modules(classes)
    methods = modules.get(name) or (_methods(classes[name]) if name in classes else {})
    constructor = methods.get("__init__")
    called = functions.get(name) or methods.get(kind.called(name, ""))
    parameters = parameters_of(functions[name]) if name in functions else parameters_of(constructor)[1:]
    parameters = parameters[len(kind.handed_first) :]
    is_method = called is not None and name not in functions
    inputs = parameters_of(called)[1:] if is_method else _inputs(parameters, kind)
    setters = [name for name, method in methods.items() if name != "__init__" and _sets_attributes(method)]
    trains_buffers = _trains_buffers(tree)
    statistics = {**BATCH_STATISTICS, **(STATISTICS_BY_HAND if trains_buffers else {})}
    documented = classes.get(name) if is_method else None
    return FoundInterface(
        kind=kind,
        class_name=name,
        entry=functions.get(name) or constructor,
        constructor=[with_uses(each, tree) for each in parameters if is_method or each not in inputs],
        forward=inputs,
        axes=dict(
            chain(
                _documented_shapes(documented),
                _masks_with_axes_added(called),
                _documented_shapes(called),
                _unpacked_shapes(called),
            )
        ),
        outputs=_count_outputs(called),
        output_names=_output_names(called, tree),
        others=[each for each, others in modules.items() if "forward" in others and each != name],
        own_checks=tuple(each for each in kind.own_checks if re.search(each.pattern, source)),
        refuses_remainders=_raises(constructor) and any(isinstance(node, ast.Mod) for node in _own_nodes(constructor)),
        guards_empty=GUARDS_EMPTY.search(source) is not None,
        halves_features=HALVES_FEATURES.search(source) is not None,
        remembers="forward" in setters,
        resets=tuple(name for name in setters if len(parameters_of(methods[name])) == 1),
        widths=_widths_of_layers(constructor, called) if constructor and called else {},
        refuses_inputs=_raises(called),
        is_causal=documented is not None
        and "causal" in f"{name} {ast.get_docstring(documented)} {called and ast.get_docstring(called)}".lower(),
        has_buffers="register_buffer" in source,
        trains_buffers=trains_buffers,
        batch_statistics=next((axes for pattern, axes in statistics.items() if re.search(pattern, source)), None),
    )


def _classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _functions(tree: ast.Module) -> dict[str, Function]:
    return {node.name: node for node in tree.body if isinstance(node, Function) and not node.name.startswith("_")}


def _modules(classes: dict[str, ast.ClassDef]) -> dict[str, dict[str, Function]]:
    """Return the classes that derive from nn.Module, each with its own and inherited methods."""
    modules: dict[str, dict[str, Function]] = {}
    for node in classes.values():
        bases = [ast.unparse(base) for base in node.bases]
        if any(base in modules or base.split(".")[-1] == "Module" for base in bases):
            methods = [*(modules.get(base, {}) for base in reversed(bases)), _methods(node)]
            modules[node.name] = {name: method for each in methods for name, method in each.items()}
    return modules


def _methods(node: ast.ClassDef) -> dict[str, Function]:
    return {each.name: each for each in node.body if isinstance(each, Function)}


def _describe(node: ast.ClassDef | Function, modules: dict[str, dict[str, Function]] | None = None) -> Definition:
    if isinstance(node, Function):
        return Definition(name=node.name, is_class=False, parameters=[each.name for each in parameters_of(node)])
    modules = modules or {}
    return Definition(
        name=node.name,
        is_class=True,
        is_module=node.name in modules,
        bases=" ".join(map(ast.unparse, node.bases)),
        methods=modules.get(node.name) or _methods(node),
    )


def _inputs(parameters: list[Parameter], kind: Kind) -> list[Parameter]:
    """Return the inputs among a non-module's arguments. The other arguments belong to the constructor."""
    return [each for each in parameters if each.is_required and not kind.own_inputs and not is_plain_value(each)]


def _own_nodes(method: Function | None) -> Iterator[ast.AST]:
    """Yield a function's nodes, without the nodes of functions inside it."""
    waiting: list[ast.AST] = list(method.body) if method else []
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def _raises(method: Function | None) -> bool:
    return any(isinstance(node, ast.Assert | ast.Raise) for node in _own_nodes(method))


def _sets_attributes(method: Function) -> bool:
    stored = [node for node in ast.walk(method) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return any(name_of(node.value) == "self" for node in stored)


def _trains_buffers(tree: ast.Module) -> bool:
    """Return whether a class of the file seems to change its buffers in training mode, outside its constructor."""
    reads_mode = any(isinstance(node, ast.Attribute) and node.attr == "training" for node in ast.walk(tree))
    for node in tree.body:
        methods = _methods(node) if isinstance(node, ast.ClassDef) else {}
        buffers = {name for method in methods.values() for name in _registered_buffers(method)}
        changed = {each for name, method in methods.items() if name != "__init__" for each in _changed(method)}
        if any(reads_mode or RUNNING.search(name) for name in buffers & changed):
            return True
    return False


def _registered_buffers(method: Function) -> Iterator[str]:
    """Yield the names in `self.register_buffer(name, ...)` and `self.name = nn.Buffer(...)`."""
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and name_of(node.func) == "register_buffer" and node.args:
            yield str(getattr(node.args[0], "value", ""))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and name_of(node.value.func) == "Buffer":
            yield name_of(node.targets[0])


def _changed(method: Function) -> Iterator[str]:
    """Yield the names of attributes that a method assigns or changes in place, as `self.mean.mul_(0.9)` does."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            written = [each for target in targets for each in ast.walk(target)]
        elif isinstance(node, ast.Call) and name_of(node.func).endswith("_"):
            written = [*ast.walk(node.func)]
        else:
            continue
        yield from (each.attr for each in written if isinstance(each, ast.Attribute))


def _returned(method: Function | None) -> list[list[ast.expr]]:
    """Return the values of each `return` of a function, in the order of its lines."""
    values = [node.value for node in _own_nodes(method) if isinstance(node, ast.Return) and node.value]
    values.sort(key=lambda value: value.lineno)
    return [value.elts if isinstance(value, ast.Tuple) else [value] for value in values]


def _count_outputs(method: Function | None) -> int:
    """Return the number of values in the last `return`; one if there is none."""
    returned = _returned(method)
    return len(returned[-1]) if returned else 1


def _output_names(method: Function | None, tree: ast.Module) -> list[str]:
    """Return `["key"]` for each key of the dictionary in the last `return`, or `.field` for each field of its named
    tuple; nothing for other values.
    """
    match _returned(method)[-1:]:
        case [[ast.Dict(keys=keys)]]:
            names = [str(key.value) for key in keys if isinstance(key, ast.Constant)]
            return [f'["{name}"]' for name in sorted(names)] if len(names) == len(keys) else []
        case [[ast.Call(func=ast.Name(id=name))]]:
            return [f".{field}" for field in _fields_of_named_tuple(name, tree)]
    return []


def _fields_of_named_tuple(name: str, tree: ast.Module) -> list[str]:
    """Return the fields of `class name(NamedTuple)` or `name = namedtuple(...)`; none if the file defines neither."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=each) if each == name and "NamedTuple" in map(name_of, node.bases):
                return [name_of(line.target) for line in node.body if isinstance(line, ast.AnnAssign)]
            case ast.Assign(targets=[ast.Name(id=each)], value=ast.Call(func=maker, args=[_, fields, *_])):
                if each == name and name_of(maker) == "namedtuple":
                    return re.findall(r"\w+", ast.unparse(fields))
    return []


def _unpacked_shapes(method: Function | None) -> Iterator[tuple[str, list[str]]]:
    """Yield inputs with the names that their axes get, as in `b, t, d = x.shape` or `... = x.size()`."""
    for node in _own_nodes(method):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            value = node.value.func if isinstance(node.value, ast.Call) and not node.value.args else node.value
            if isinstance(value, ast.Attribute) and value.attr in ("shape", "size"):
                yield name_of(value.value), [each.id for each in node.targets[0].elts if isinstance(each, ast.Name)]


def _masks_with_axes_added(method: Function | None) -> Iterator[tuple[str, list[str]]]:
    """Yield masks with the names of their own axes, as in `mask[:, None, None, :]`."""
    for part in ast.walk(method) if method else ():
        if isinstance(part, ast.Subscript) and "mask" in name_of(part.value) and isinstance(part.slice, ast.Tuple):
            axes = [axis for axis in part.slice.elts if isinstance(axis, ast.Slice) and axis.step is None]
            if any(isinstance(axis, ast.Constant) and axis.value is None for axis in part.slice.elts):
                yield name_of(part.value), ["batch", "tokens", "keys"][: len(axes)]


def _documented_shapes(definition: Function | ast.ClassDef | None) -> Iterator[tuple[str, list[str]]]:
    """Yield inputs with the names that the docstring gives their axes."""
    for name, axes in DOCUMENTED.findall((definition and ast.get_docstring(definition)) or ""):
        yield name, re.findall(r"\w+", axes)


def _widths_of_layers(constructor: Function, forward: Function) -> dict[str, str]:
    """Return, for each input of a linear layer in forward, the constructor's argument that is its width.

    The key `return` stands for the first output, if a linear layer makes it.
    """
    layers: dict[str, tuple[str, str]] = {}
    for node in ast.walk(constructor):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and name_of(node.value.func) == "Linear":
            sizes = [each.id if isinstance(each, ast.Name) else "" for each in node.value.args]
            if len(sizes) > 1:
                layers[name_of(node.targets[0])] = sizes[0], sizes[1]
    calls = [node for node in ast.walk(forward) if isinstance(node, ast.Call) and _layer_of(node) in layers]
    widths = {name_of(call.args[0]): layers[_layer_of(call)][0] for call in reversed(calls) if len(call.args) == 1}
    for first, *_ in _returned(forward):
        if isinstance(first, ast.Call) and first in calls:
            widths["return"] = layers[_layer_of(first)][1]
    return {name: width for name, width in widths.items() if width}


def _layer_of(call: ast.Call) -> str:
    """Return `to_q` for `self.to_q(x)`."""
    return call.func.attr if isinstance(call.func, ast.Attribute) and name_of(call.func.value) == "self" else ""
