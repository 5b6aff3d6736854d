"""The kinds of subject, one class for each.

Checks only build and call modules. A subject that is not a module gets an adapter (`sandbox/probes`): a module whose
`forward` runs the subject. Other modules ask the class of the exercise's kind; none of them names a kind.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from typing import Any, ClassVar

from msgspec import Struct

from grader.spec.paths import USUAL_MODULE

Shape = list[str | int]


class KindName(StrEnum):
    """The kind of class or function that a submission offers."""

    MODULE = "module"
    FUNCTION = "function"
    LOSS = "loss"
    OPTIMIZER = "optimizer"
    TRAINING_STEP = "training_step"
    DATASET = "dataset"


class Definition(Struct, frozen=True, kw_only=True):
    """A class or function at the top of a file, by which `new` recognizes its kind."""

    name: str
    is_class: bool
    is_module: bool = False
    """Whether it derives from `nn.Module`."""
    bases: str = ""
    methods: Collection[str] = ()
    parameters: Sequence[str] = ()


class Suggestion(Struct, frozen=True, kw_only=True):
    """A value that `new` proposes for arguments whose names match, and a second value for further checks."""

    names: re.Pattern[str]
    value: float
    is_required: bool
    """Whether it is for arguments without a default, or for those with one."""
    other: float | None = None


class OwnCheck(Struct, frozen=True, kw_only=True):
    """A check with arguments for the kit's adapter. `new` proposes it if the file contains a pattern."""

    id: str
    constructor: dict[str, Any]
    pattern: str = ""
    about: str = ""
    """A word of the lines that the check reaches; a proof proposes the check for mutants of such lines."""


class Part(Struct, frozen=True, kw_only=True):
    """One of several values that an adapter returns. `first_axis` names its first axis, if that has a name."""

    name: str
    first_axis: str = ""


class Kind:
    """A kind of subject. The defaults suit most kinds; subclasses change them."""

    name: ClassVar[KindName]
    described: ClassVar[str]
    """A description of what a submission offers, for students."""
    file: ClassVar[str] = USUAL_MODULE
    """The usual name of the file."""

    # How it is built and called
    offers_class: ClassVar[bool] = False
    offers_function: ClassVar[bool] = False
    class_is_module: ClassVar[bool] = False
    """Whether a class of this kind is an `nn.Module`, which needs no adapter."""
    is_module: ClassVar[bool] = False
    """Whether every subject of this kind has named parameters, modes and devices, as modules do."""
    input_method: ClassVar[str] = ""
    """The method that takes the inputs, if every subject of this kind is a class that has one."""
    adapter: ClassVar[str] = ""
    """The module in `sandbox/probes` with the adapter for subjects that are not an `nn.Module`."""
    has_calling_variants: ClassVar[bool] = False
    """Whether checks call the subject in calling variants (`checks/calling_variant_choice.py`)."""
    handed_first: ClassVar[tuple[str, ...]] = ()
    """The arguments that the kit itself passes before the inputs."""
    is_built_from_inputs: ClassVar[bool] = False
    adapter_arguments: ClassVar[tuple[str, ...]] = ()
    """Constructor arguments that the adapter uses and does not pass to the submission."""

    # How it is compared
    shared: ClassVar[str] = "inputs"
    """What submission and reference have in common when they are compared, as the end of a sentence."""
    returns_outputs: ClassVar[bool] = False
    """Whether the interface's `outputs` describe the subject's own return value, not its adapter's."""

    # How `new` recognizes and describes it
    precedence: ClassVar[int] = 3
    """`new` chooses the definition whose kind has the lowest number; among equals, the last one in the file."""
    inputs_are: ClassVar[str]
    own_inputs: ClassVar[dict[str, Shape]] = {}
    """The inputs, if the kit and not the signature determines them. `new` knows good sizes for some names of axes, such
    as `rows` and `columns` (`author/sizes.py:SIZES`).
    """
    input_axes: ClassVar[Shape] = ["batch", "tokens"]
    """The axes of an input before its features."""
    step_axes: ClassVar[Shape] = []
    """Axes of an input that the adapter removes before it calls the submission."""
    integers_below: ClassVar[str | int] = "width"
    whole_inputs: ClassVar[dict[str, Any] | None] = None
    """The type of all inputs, whatever their names are."""
    outputs: ClassVar[list[Shape] | None] = None
    """The outputs, if they do not have the shape of the first input."""
    fixed_batches: ClassVar[tuple[int, int, int]] = (1, 1, 2)
    random_batches: ClassVar[tuple[Any, Any, Any, Any]] = ([2, 6], 2, [37, 48], 4)
    sizes_by_name: ClassVar[re.Pattern[str] | None] = None
    """Names of required arguments that are sizes."""
    suggestions: ClassVar[tuple[Suggestion, ...]] = ()
    first_checks: ClassVar[tuple[str, ...]] = ("matches_reference", "keeps_dtype", "leaves_inputs_alone")
    own_checks: ClassVar[tuple[OwnCheck, ...]] = ()
    promises: ClassVar[tuple[str, ...]] = ()
    """Sentences for the page of a new exercise on what the kit does with every subject of this kind."""

    def recognizes(self, definition: Definition) -> bool:
        """Return whether a definition is of this kind."""
        raise NotImplementedError

    def noun(self) -> str:
        """Return the name in words."""
        return self.name.replace("_", " ")

    def phrase(self) -> str:
        """Return the name in words, with its article."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.noun()}"

    def called(self, class_name: str, function: str) -> str:
        """Return the name that findings use for a call."""
        return function or ("forward" if self.class_is_module else class_name)

    def adapter_for(self, function: str) -> str:
        """Return the adapter for the interface's `function`, or for its class if `function` is empty."""
        return "" if self.class_is_module and not function else self.adapter

    def parts(self, inputs: list[str], count: int) -> list[Part]:  # noqa: ARG002 - most have none
        """Return each of `count` values that the adapter returns; none if their numbers suffice."""
        return []

    def own_arguments(self, sizes: Collection[str]) -> dict[str, Any]:  # noqa: ARG002 - most have none
        """Return the arguments that `new` proposes for the adapter; `sizes` are the names of the inputs' sizes."""
        return {}


class Module(Kind):
    name = KindName.MODULE
    described = "an `nn.Module`"
    offers_class = class_is_module = is_module = True
    input_method = "forward"
    has_calling_variants = True
    shared = "weights and inputs"
    returns_outputs = True
    precedence = 1
    first_checks = (
        *("returns_shapes", "matches_reference", "every_parameter_learns"),
        *("keeps_dtype", "moves_between_devices", "leaves_inputs_alone"),
    )
    inputs_are = "forward's arguments, by keyword"

    def recognizes(self, definition: Definition) -> bool:
        return definition.is_module and "forward" in definition.methods


class Loss(Kind):
    """A function, or a class that is a module."""

    name = KindName.LOSS
    described = "a loss"
    file = "loss.py"
    offers_class = offers_function = class_is_module = True
    adapter = "function"
    has_calling_variants = True
    returns_outputs = True
    inputs_are = "its arguments, by keyword"
    outputs: ClassVar[list[Shape] | None] = [[]]
    words = re.compile(r"loss|entropy|nll|criterion|divergence|^kl")

    def recognizes(self, definition: Definition) -> bool:
        return not definition.is_class and self.words.search(definition.name.lower()) is not None


class Function(Kind):
    name = KindName.FUNCTION
    described = "a function"
    offers_function = True
    adapter = "function"
    has_calling_variants = True
    returns_outputs = True
    inputs_are = "its arguments, by keyword"
    sizes_by_name = re.compile(r"(^|_)(len|length|tokens)$")
    first_checks = ("matches_reference", "keeps_dtype", "returns_shapes", "leaves_inputs_alone")

    def recognizes(self, definition: Definition) -> bool:
        return not definition.is_class


class Optimizer(Kind):
    """An optimizer: the adapter takes some steps from the same parameters, twice."""

    name = KindName.OPTIMIZER
    described = "an optimizer"
    file = "optimizer.py"
    offers_class = True
    adapter = "optimizer"
    adapter_arguments = ("steps", "closure")
    handed_first = ("parameters",)
    shared = "parameters and gradients"
    precedence = 2
    inputs_are = "the parameters' first values"
    own_inputs: ClassVar[dict[str, Shape]] = {"weights": ["rows", "columns"], "bias": ["columns"]}
    states = 5
    """The number of recorded states: before the first of the adapter's four steps, and after each."""
    outputs: ClassVar[list[Shape] | None] = [[states, "rows", "columns"], [states, "columns"], [states, 2]] * 2
    suggestions = (Suggestion(names=re.compile(r"^(lr|learning_rate)$"), value=0.05, is_required=False),)
    """A learning rate with visible steps: steps with a default learning rate may be lost in rounding."""
    promises = (
        "Some parameters may have no gradient. Gradients change sign and size from step to step.",
        "Between two steps, a new optimizer may load the state dict and take the next steps.",
    )
    own_checks = (
        OwnCheck(id="values_after_many_steps", constructor={"steps": 23}),
        OwnCheck(
            id="values_with_a_closure",
            constructor={"closure": True},
            pattern=r"def step\(self, closure\b",
            about="closure",
        ),
    )

    def recognizes(self, definition: Definition) -> bool:
        is_like_one = {"step", "zero_grad"} <= {*definition.methods}
        return definition.is_class and ("Optimizer" in definition.bases or is_like_one)

    def parts(self, inputs: list[str], count: int) -> list[Part]:  # noqa: ARG002 - see Kind
        names = [*inputs, "a parameter without a gradient"]
        names += [f"{name}, with the state dict loaded halfway," for name in names]
        return [*(Part(name=name, first_axis="step") for name in names), Part(name="what the steps return")]


class TrainingStep(Kind):
    """A training step: the adapter calls it with a model, an optimizer and batches of the kit."""

    name = KindName.TRAINING_STEP
    described = "one step of a training loop, `step(model, optimizer, ...)`"
    file = "training.py"
    offers_function = True
    adapter = "training_step"
    handed_first = ("model", "optimizer")
    adapter_arguments = ("width", "outputs", "learning_rate", "momentum", "unused")
    shared = "model and batches"
    precedence = 0
    inputs_are = "the arguments of a step, with an axis of steps in front"
    input_axes: ClassVar[Shape] = ["batch"]
    step_axes: ClassVar[Shape] = ["steps"]
    integers_below = "classes"
    outputs: ClassVar[list[Shape] | None] = [["steps", 8, "width"]]
    fixed_batches = (8, 9, 12)
    """Batch norm needs two samples, also in the last half or third of the smallest batch or of one with a sample more.
    """
    random_batches = ([8, 19], [130, 160], [37, 48], 4)
    suggestions = (
        Suggestion(names=re.compile(r"max_norm|clip|max_grad"), value=1000.0, is_required=False, other=0.001),
    )
    """A norm above all gradients, and one below all: with a norm in between, a fault shows only at some seeds."""
    promises = (
        "The model has batch norm and dropout.",
        "After a step, what it returns and the parameters, buffers and modes of the model are compared.",
        "The random numbers that a step draws are compared too.",
    )
    own_checks = (
        OwnCheck(
            id="values_with_an_unused_parameter",
            constructor={"unused": True},
            pattern=r"\.grad is (not )?None",
            about="grad",
        ),
    )
    layers = (
        *("first.weight", "first.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"),
        *("norm.num_batches_tracked", "last.weight", "last.bias"),
    )
    """The names of the adapter's model's state, in order."""
    after_steps = ("the modes of the model and its layers", "the next random number")

    def recognizes(self, definition: Definition) -> bool:
        first, second = [*map(str.lower, definition.parameters), "", ""][:2]
        return not definition.is_class and first == "model" and second.startswith("opt")

    def parts(self, inputs: list[str], count: int) -> list[Part]:  # noqa: ARG002 - see Kind
        returned = count - len(self.layers) - len(self.after_steps)
        names = [f"value {number} that it returns" for number in range(1, returned + 1)]
        names = ["what it returns"] if returned == 1 else names
        recorded = [Part(name=f"the model's {name}", first_axis="step") for name in self.layers]
        return [*recorded, *(Part(name=name) for name in (*names, *self.after_steps))]

    def own_arguments(self, sizes: Collection[str]) -> dict[str, Any]:
        return {"width": "width", "outputs": "classes" if "classes" in sizes else "width"}


class Dataset(Kind):
    """A dataset or a sampler, whose items are compared."""

    name = KindName.DATASET
    described = "a dataset or sampler"
    file = "data.py"
    offers_class = True
    adapter = "dataset"
    is_built_from_inputs = True
    adapter_arguments = ("like_a_list",)
    precedence = 2
    inputs_are = "its arguments, by keyword"
    whole_inputs: ClassVar[dict[str, Any] | None] = {"integers": 50, "shape": ["items"]}
    outputs: ClassVar[list[Shape] | None] = [[1]]
    suggestions = (
        Suggestion(names=re.compile(r"(^|_)(size|len|length|window|context|steps|stride)$"), value=3, is_required=True),
    )
    first_checks = ("matches_reference", "leaves_inputs_alone")
    promises = (
        "Items and their order are compared over two epochs, before and after `set_epoch` if there is such a method.",
        "An iterable dataset must also give each of two workers the right items.",
    )
    own_checks = (
        OwnCheck(
            id="values_like_a_list",
            constructor={"like_a_list": True},
            pattern=r"def __getitem__[\s\S]*(IndexError|< 0)",
            about="index",
        ),
    )

    def recognizes(self, definition: Definition) -> bool:
        is_like_one = bool({"__getitem__", "__iter__"} & {*definition.methods})
        return definition.is_class and ("Dataset" in definition.bases or "Sampler" in definition.bases or is_like_one)


KINDS: dict[KindName, Kind] = {kind.name: kind() for kind in Kind.__subclasses__()}
USUAL_KIND = KindName.MODULE


def recognize(definitions: Sequence[Definition]) -> tuple[Kind, Definition] | None:
    """Return the definition that an exercise can be made of, and its kind; None if the file has no such definition."""
    found = [(kind, each) for each in definitions for kind in KINDS.values() if kind.recognizes(each)]
    precedence = min((kind.precedence for kind, _ in found), default=0)
    entries = [(kind, each) for kind, each in found if kind.precedence == precedence]
    return next(((kind, each) for kind, each in entries if each is entries[-1][1]), None)


def suggested(kind: Kind, names: Collection[str], *, is_required: bool) -> Iterator[tuple[str, Suggestion]]:
    """Yield the names for which a kind has a suggestion."""
    for name in names:
        for each in kind.suggestions:
            if each.is_required == is_required and each.names.search(name):
                yield name, each
