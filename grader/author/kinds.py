"""What a file without a module shows: a function, loss, optimizer, training step or dataset, and a proposal for it."""

import ast
import re

from grader.author.interface import Function, Interface, Parameter, count_outputs, parameters_of, unpacked_shapes
from grader.author.proposal import Ladder, Proposal, Shape
from grader.course.kinds import Kind

LOSS = re.compile(r"loss|entropy|nll|criterion|divergence|^kl")
STEP = re.compile(r"step|train|update|epoch")
IDS = re.compile(r"(^|_)(ids?|tokens?|labels?|targets?|y|idx|index|indices|classes|actions?)$")
LENGTHS = re.compile(r"(^|_)(lengths?|lens)$")
SCALARS = re.compile(
    r"^(p|k|eps|dim|alpha|beta|gamma|tau|lam|lambda_?|temperature|smoothing|margin|threshold|reduction|ignore_index)$"
    r"|^(num|n|max|min|top|use|is)_|(^|_)(size|len|length|rate|prob|p|k|index|eps|norm|steps)$"
)
"""Names of what is handed over as it stands."""

SIZES = {
    "batch": (1, 1, 3),
    "steps": (2, 3, 4),
    "tokens": (1, 5, 5),
    "width": (4, 7, 11),
    "rows": (1, 3, 5),
    "columns": (2, 4, 7),
    "items": (9, 23, 40),
}
"""What sizes are called, and how large they are on the first, second and last rung."""

SIZES_OF_TRAINING = {**SIZES, "batch": (3, 5, 6)}
"""Batch norm takes no batch of one."""

STEPS_SEEN = 5
"""An optimizer's parameters are seen before its four steps and after each."""


def find_other_kind(tree: ast.Module) -> Interface | None:
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
    return Interface(
        function.name, given, inputs, dict(unpacked_shapes(function)), count_outputs(function), [], kind=kind
    )


def _is_scalar(parameter: Parameter) -> bool:
    return parameter.annotation in ("int", "float", "bool", "str") or SCALARS.search(parameter.name) is not None


def propose_other_kind(interface: Interface) -> Proposal:
    """Shapes, sizes and a ladder for what is no module."""
    names = [each.name for each in interface.forward]
    if interface.kind is Kind.OPTIMIZER:
        inputs: dict[str, Shape | dict[str, object]] = {"weights": ["rows", "columns"], "bias": ["columns"]}
        shapes: list[Shape] = [[STEPS_SEEN, "rows", "columns"], [STEPS_SEEN, "columns"], [STEPS_SEEN, 2]]
        return _proposal(interface, inputs, shapes * 2)
    if interface.kind is Kind.DATASET:
        return _proposal(interface, {name: {"integers": 50, "shape": ["items"]} for name in names}, [[1]])
    front: Shape = ["steps"] if interface.kind is Kind.TRAINING_STEP else []
    places: Shape = ["batch"] if front else ["batch", "tokens"]
    inputs = {name: _input(name, [*front, *places], interface) for name in names}
    first: Shape = next((shape for shape in inputs.values() if isinstance(shape, list)), ["batch"])
    known: dict[Kind, list[Shape]] = {Kind.LOSS: [[]], Kind.TRAINING_STEP: [["steps", 8, "width"]]}
    outputs = known.get(interface.kind, [first] * interface.outputs)
    return _proposal(interface, inputs, outputs)


def _input(name: str, places: Shape, interface: Interface) -> Shape | dict[str, object]:
    """What a name stands for: token ids, lengths, a mask, or numbers with as many axes as the source unpacks."""
    lower = name.lower()
    if "mask" in lower:
        return {"mask": "random", "shape": places if len(places) > 1 else [*places, "tokens"]}
    if LENGTHS.search(lower):
        return {"integers": "tokens", "start": 1, "shape": places[:1]}
    if IDS.search(lower):
        ignored = [each.default for each in interface.constructor if each.name == "ignore_index"]
        return {"integers": "width", **({"ignored": ignored[0]} if ignored else {}), "shape": places}
    rank = len(interface.axes.get(name, [*places, "width"]))
    return [*places, "width"][:rank] if rank < len(places) else [*places, "width"]


def _proposal(interface: Interface, inputs: dict[str, Shape | dict[str, object]], outputs: list[Shape]) -> Proposal:
    required = [each.name for each in interface.constructor if each.is_required]
    optional = [each.name for each in interface.constructor if not each.is_required]
    constructor: dict[str, bool | int | float | str | None] = dict.fromkeys(required)
    if interface.kind is Kind.TRAINING_STEP:
        constructor |= {"width": "width", "outputs": "width"}
    return Proposal(constructor, required, inputs, optional, [], outputs, _ladder(inputs, interface.kind), [], "")


def _ladder(inputs: dict[str, Shape | dict[str, object]], kind: Kind) -> Ladder:
    sizes = SIZES_OF_TRAINING if kind is Kind.TRAINING_STEP else SIZES
    told = str(list(inputs.values()))
    used = [name for name in sizes if f"'{name}'" in told]
    return [{name: sizes[name][rung] for name in used} for rung in range(3)]
