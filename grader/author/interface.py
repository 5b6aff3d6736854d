"""A file with a fault in it -> the interface that its class shows, found by parsing and never by executing."""

import ast
import re
from collections.abc import Iterator

from msgspec import Struct, structs

from grader.course.checks import Kind
from grader.errors import UsageError

Constant = bool | int | float | str | None
Function = ast.FunctionDef | ast.AsyncFunctionDef

LOSS = re.compile(r"loss|entropy|nll|criterion|divergence|^kl")
STEP = re.compile(r"step|train|update|epoch")
SCALARS = re.compile(
    r"^(p|k|eps|dim|alpha|beta|gamma|tau|lam|lambda_?|temperature|smoothing|margin|threshold|reduction|ignore_index)$"
    r"|^(num|n|max|min|top|use|is)_|(^|_)(size|len|length|rate|prob|p|k|index|eps|norm|steps|stride|offset|seed|every)$"
)
"""Names of what is handed over as it stands."""


PAIRS = re.compile(r"\(0, \w+, 2\b|\.\.\., (0|1)?::2\]|chunk\(2, (dim=)?-1\)|rotate_half")
"""What takes features in pairs."""


class Parameter(Struct, frozen=True):
    """A parameter of a signature; `default` and `annotation` are what can be told from the text.

    `is_unread` tells of a default that is no constant, such as a pair. `words` are the texts that the file compares it
    with; `refused` are a value that the file refuses and the exception.
    """

    name: str
    is_required: bool
    default: Constant = None
    annotation: str = ""
    is_unread: bool = False
    words: tuple[str, ...] = ()
    refused: tuple[int | float, str] | None = None


class Interface(Struct, frozen=True):
    """What a class shows. `axes` names those of an input whose shape forward unpacks; `outputs` counts what it returns.

    `others` are the file's other modules with a forward; `refuses_remainders` tells that the constructor looks at the
    remainder of a division and may refuse it; `takes_closure` that an optimizer's step takes one; `skips_missing` that
    the file looks for parameters without a gradient; `guards_nothing` that it divides by no less than something;
    `halves_features` that it takes features in pairs, as rotary positions do.
    """

    class_name: str
    constructor: list[Parameter]
    forward: list[Parameter]
    axes: dict[str, list[str]]
    outputs: int
    others: list[str]
    refuses_remainders: bool = False
    kind: Kind = Kind.MODULE
    takes_closure: bool = False
    skips_missing: bool = False
    guards_nothing: bool = False
    halves_features: bool = False


def find_interface(source: str, name: str) -> Interface:
    """The interface of the last module with a forward in the source, or else of what is of another kind.

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
        constructor=[_with_uses(each, tree) for each in found.constructor],
        takes_closure=found.kind is Kind.OPTIMIZER and re.search(r"def step\(self, closure\b", source) is not None,
        skips_missing=re.search(r"\.grad is (not )?None", source) is not None,
        halves_features=PAIRS.search(source) is not None,
        guards_nothing=re.search(r"\bmax\(|clamp\(|\.any\(\)|== 0\b", source) is not None,
    )


def _find_entry(tree: ast.Module, name: str) -> Interface:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    modules = _modules(classes)
    other = _other_kind(tree)
    entries = [each for each, methods in modules.items() if "forward" in methods]
    if other is not None and (not entries or other.kind is Kind.TRAINING_STEP):
        return other
    if not entries:
        found = ", ".join(each.name for each in classes) or "none"
        raise UsageError(
            f"{name}: no class derived from nn.Module has a forward; the classes found: {found}; nor is there a "
            "function, an optimizer or a dataset"
        )
    *others, entry = entries
    forward, constructor = modules[entry]["forward"], modules[entry].get("__init__")
    return Interface(
        entry,
        parameters_of(constructor)[1:] if constructor else [],
        parameters_of(forward)[1:],
        dict(_masks_with_axes_added(forward)) | dict(_unpacked_shapes(forward)),
        _count_outputs(forward),
        others,
        _refuses_remainders(constructor) if constructor else False,
    )


def _modules(classes: list[ast.ClassDef]) -> dict[str, dict[str, Function]]:
    """The classes that derive from nn.Module, each with its methods and those it inherits in this file."""
    modules: dict[str, dict[str, Function]] = {}
    for each in classes:
        bases = [ast.unparse(base) for base in each.bases]
        if any(base in modules or base.split(".")[-1] == "Module" for base in bases):
            inherited = [modules[base] for base in reversed(bases) if base in modules]
            own = {node.name: node for node in each.body if isinstance(node, Function)}
            modules[each.name] = {name: method for methods in (*inherited, own) for name, method in methods.items()}
    return modules


def parameters_of(method: Function) -> list[Parameter]:
    """What can be handed over by keyword, in order."""
    arguments = method.args
    named = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(named) - len(arguments.defaults))
    pairs = list(zip(named, [*defaults, *arguments.defaults], strict=True))
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [_parameter(argument, default) for argument, default in pairs]


def _parameter(argument: ast.arg, default: ast.expr | None) -> Parameter:
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    value = _constant(default)
    is_unread = default is not None and value is None and ast.unparse(default) != "None"
    return Parameter(argument.arg, default is None, value, annotation, is_unread)


def _with_uses(parameter: Parameter, tree: ast.Module) -> Parameter:
    """The parameter with what it is compared with, under its own name or as an attribute of that name."""
    comparisons = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    words = dict.fromkeys(
        word.value
        for node in comparisons
        if _named(node.left) == parameter.name
        for word in ast.walk(node)
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    )
    refusals = (_refused(node, parameter.name) for node in ast.walk(tree) if isinstance(node, ast.If))
    return structs.replace(parameter, words=tuple(words), refused=next(filter(None, refusals), None))


def _named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


OUTSIDE = {ast.Lt: -1, ast.LtE: 0, ast.Gt: 1, ast.GtE: 0}
"""How far from the bound is what a comparison holds for."""


def _refused(node: ast.If, name: str) -> tuple[int | float, str] | None:
    """A value for which `if name < bound: raise error` raises, and the error."""
    first, test = node.body[0], node.test
    if not (isinstance(first, ast.Raise) and first.exc and isinstance(test, ast.Compare) and len(test.ops) == 1):
        return None
    bound = _constant(test.comparators[0])
    error = _named(first.exc.func) if isinstance(first.exc, ast.Call) else _named(first.exc)
    if not isinstance(bound, int | float) or type(test.ops[0]) not in OUTSIDE or _named(test.left) != name or not error:
        return None
    return bound + OUTSIDE[type(test.ops[0])], error


def _constant(default: ast.expr | None) -> Constant:
    """What a default is, where it is written out: numbers with a sign, too."""
    try:
        value = None if default is None else ast.literal_eval(default)
    except ValueError:
        return None
    return value if isinstance(value, Constant) else None


def _own_nodes(method: Function) -> Iterator[ast.AST]:
    """The method's nodes, without those of functions inside it."""
    waiting: list[ast.AST] = list(method.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def _unpacked_shapes(method: Function) -> Iterator[tuple[str, list[str]]]:
    """Inputs with the names their axes get, as in `b, t, d = x.shape` or `... = x.size()`."""
    for node in _own_nodes(method):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)):
            continue
        names = [target.id for target in node.targets[0].elts if isinstance(target, ast.Name)]
        value = node.value.func if isinstance(node.value, ast.Call) and not node.value.args else node.value
        is_shape = isinstance(value, ast.Attribute) and value.attr in ("shape", "size")
        if is_shape and isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            yield value.value.id, names


def _masks_with_axes_added(method: Function) -> Iterator[tuple[str, list[str]]]:
    """Masks with the names that their own axes get in `mask[:, None, None, :]`."""
    for node in _own_nodes(method):
        for part in ast.walk(node) if isinstance(node, ast.stmt) else ():
            if isinstance(part, ast.Subscript) and "mask" in _named(part.value) and isinstance(part.slice, ast.Tuple):
                axes = [axis for axis in part.slice.elts if isinstance(axis, ast.Slice) and axis.step is None]
                if any(isinstance(axis, ast.Constant) and axis.value is None for axis in part.slice.elts):
                    yield _named(part.value), ["batch", "tokens", "keys"][: len(axes)]


DOCUMENTED = re.compile(r"(\w+)(?: of shape|:)? ?[(\[]((?:\w+,)(?: ?\w+,?)*)[)\]]")
"""An input and its axes in a docstring, as in `scores (queries, items)` or `answers: (queries,)`."""


def _documented_shapes(function: Function) -> dict[str, list[str]]:
    """Inputs with the names that the docstring gives their axes."""
    found = DOCUMENTED.findall(ast.get_docstring(function) or "")
    return {name: [axis.strip() for axis in axes.split(",") if axis.strip()] for name, axes in found}


def _refuses_remainders(method: Function) -> bool:
    nodes = list(_own_nodes(method))
    refuses = any(isinstance(node, ast.Assert | ast.Raise) for node in nodes)
    return refuses and any(isinstance(node, ast.Mod) for node in nodes)


def _count_outputs(method: Function) -> int:
    """How many values the last `return` hands back; a single one where that cannot be seen."""
    returned = [node.value for node in _own_nodes(method) if isinstance(node, ast.Return) and node.value]
    returned.sort(key=lambda value: value.lineno)
    return len(returned[-1].elts) if returned and isinstance(returned[-1], ast.Tuple) else 1


def _other_kind(tree: ast.Module) -> Interface | None:
    """The interface of the last thing in a module that is of another kind; None where there is none."""
    functions = [node for node in tree.body if isinstance(node, Function) and not node.name.startswith("_")]
    steps = [each for each in functions if STEP.search(each.name) and _takes_model_and_optimizer(each)]
    if steps:
        return _of_function(Kind.TRAINING_STEP, steps[-1])
    classes = {each: kind for each in tree.body if isinstance(each, ast.ClassDef) if (kind := _kind_of(each))}
    if classes:
        return _of_class(*list(classes.items())[-1])
    if not functions:
        return None
    *_, function = functions
    return _of_function(Kind.LOSS if LOSS.search(function.name.lower()) else Kind.FUNCTION, function)


def _takes_model_and_optimizer(function: Function) -> bool:
    names = [each.name.lower() for each in parameters_of(function)[:2]]
    return names[:1] == ["model"] and names[1:2] != [] and names[1].startswith("opt")


def _kind_of(node: ast.ClassDef) -> Kind | None:
    bases = " ".join(ast.unparse(base) for base in node.bases)
    methods = {each.name for each in node.body if isinstance(each, Function)}
    if "Optimizer" in bases or {"step", "zero_grad"} <= methods:
        return Kind.OPTIMIZER
    is_dataset = "Dataset" in bases or "Sampler" in bases or bool({"__getitem__", "__iter__"} & methods)
    return Kind.DATASET if is_dataset else None


def _of_class(node: ast.ClassDef, kind: Kind) -> Interface:
    made = next((each for each in node.body if isinstance(each, Function) and each.name == "__init__"), None)
    parameters = parameters_of(made)[1:] if made else []
    if kind is Kind.OPTIMIZER:
        return Interface(node.name, parameters[1:], [], {}, 1, [], kind=kind)
    given = [each for each in parameters if not each.is_required or _is_scalar(each)]
    return Interface(node.name, given, [each for each in parameters if each not in given], {}, 1, [], kind=kind)


def _of_function(kind: Kind, function: Function) -> Interface:
    parameters = parameters_of(function)[2 if kind is Kind.TRAINING_STEP else 0 :]
    given = [each for each in parameters if not each.is_required or _is_scalar(each)]
    inputs = [each for each in parameters if each not in given]
    axes = _documented_shapes(function) | dict(_unpacked_shapes(function))
    return Interface(function.name, given, inputs, axes, _count_outputs(function), [], kind=kind)


def _is_scalar(parameter: Parameter) -> bool:
    return parameter.annotation in ("int", "float", "bool", "str") or SCALARS.search(parameter.name) is not None
