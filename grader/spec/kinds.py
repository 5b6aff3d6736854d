"""The kinds of subject: one class for each, with all that is particular to it.

A check knows modules alone: it builds one and calls it. What is no module gets an adapter (`sandbox/probes`), a module
whose forward is the experiment. Everything else asks a kind's class; no other module names one.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from typing import Any, ClassVar

from msgspec import Struct

from grader.spec.paths import USUAL_MODULE

Shape = list[str | int]


class KindName(StrEnum):
    """What a submission offers."""

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
    """A value that `new` gives to arguments whose names match, and another one that it tries besides."""

    names: re.Pattern[str]
    value: float
    is_required: bool
    """Whether it is for arguments without a default, or for those with one."""
    other: float | None = None


class OwnCheck(Struct, frozen=True, kw_only=True):
    """A check with arguments that the kit's adapter understands, for files in which a pattern is found."""

    id: str
    constructor: dict[str, Any]
    pattern: str = ""
    about: str = ""
    """A word of the lines that it reaches, by which a proof proposes it."""


class Kind:
    """A kind of subject, as most of them are; a subclass says what is different."""

    name: ClassVar[KindName]
    described: ClassVar[str]
    """What a submission offers, for students."""
    file: ClassVar[str] = USUAL_MODULE
    """The usual name of the file."""

    # How it is built and called
    offers_class: ClassVar[bool] = False
    offers_function: ClassVar[bool] = False
    class_is_module: ClassVar[bool] = False
    """Whether a class of this kind is an `nn.Module`, which is called itself."""
    is_module: ClassVar[bool] = False
    """Whether it always has what only modules have: parameters by name, modes, devices."""
    adapter: ClassVar[str] = ""
    """The module in `sandbox/probes` that calls what is no `nn.Module`."""
    has_calling_variants: ClassVar[bool] = False
    """Whether a call can be made in other calling variants than the plain one (`checks/calling_variants.py`)."""
    handed_first: ClassVar[tuple[str, ...]] = ()
    """What the kit itself hands over before the inputs."""
    is_built_from_inputs: ClassVar[bool] = False
    adapter_takes_arguments: ClassVar[bool] = False
    """Whether some of the constructor's arguments are the adapter's and unknown to the submission."""

    # How it is compared
    shared: ClassVar[str] = "inputs"
    """What it shares with the reference when the two are compared."""
    returns_outputs: ClassVar[bool] = False
    """Whether the interface's outputs are what it returns, rather than what its adapter does."""

    # How it is shown
    trial: ClassVar[str] = "{entry}({inputs}, {arguments})"
    """What its adapter does, for students."""

    # How `new` recognizes and describes it
    precedence: ClassVar[int] = 3
    """Of a file's definitions, those of the kinds with the lowest number count, and of them the last."""
    inputs_are: ClassVar[str]
    own_inputs: ClassVar[dict[str, Shape]] = {}
    """The inputs, where the kit rather than the signature decides."""
    input_axes: ClassVar[Shape] = ["batch", "tokens"]
    """The axes of an input before its features."""
    step_axes: ClassVar[Shape] = []
    """Axes before those that a submission sees."""
    integers_below: ClassVar[str | int] = "width"
    whole_inputs: ClassVar[dict[str, Any] | None] = None
    """What all inputs are, whatever they are called."""
    outputs: ClassVar[list[Shape] | None] = None
    """The outputs, where they do not have the shape of the first input."""
    fixed_batches: ClassVar[tuple[int, int, int]] = (1, 1, 3)
    random_batches: ClassVar[tuple[Any, Any, Any, Any]] = ([2, 6], 2, [37, 48], 4)
    sizes_by_name: ClassVar[re.Pattern[str] | None] = None
    """Names of required arguments that are sizes."""
    suggestions: ClassVar[tuple[Suggestion, ...]] = ()
    first_checks: ClassVar[tuple[str, ...]] = ("matches_reference", "keeps_dtype", "leaves_inputs_alone")
    own_checks: ClassVar[tuple[OwnCheck, ...]] = ()

    def recognizes(self, definition: Definition) -> bool:
        """Whether a definition is of this kind."""
        raise NotImplementedError

    def noun(self) -> str:
        """Return the name in words."""
        return self.name.replace("_", " ")

    def phrase(self) -> str:
        """Return the name in words, with its article."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.noun()}"

    def called(self, class_name: str, function: str) -> str:
        """Return what findings say is called."""
        return function or ("forward" if self.class_is_module else class_name)

    def adapter_for(self, function: str) -> str:
        """Return the adapter of an interface that names a `function`, or a class where that is empty."""
        return "" if self.class_is_module and not function else self.adapter

    def arguments(self, function: str, inputs: list[str], constructor: list[str]) -> list[str]:
        """Return the arguments of the submission's function or class, for students."""
        given = [*inputs, *constructor] if function or self.is_built_from_inputs else constructor
        return [*self.handed_first, *given]

    def parts(self, inputs: list[str], count: int) -> list[str]:  # noqa: ARG002 - most have none
        """Return a name for each of `count` values that the adapter returns; none where their numbers do."""
        return []

    def own_arguments(self, inputs: str) -> dict[str, Any]:  # noqa: ARG002 - most have none
        """Return what `new` gives to the adapter, for inputs as text."""
        return {}


class Module(Kind):
    name = KindName.MODULE
    described = "an `nn.Module`"
    offers_class = class_is_module = is_module = True
    has_calling_variants = True
    shared = "weights and inputs"
    returns_outputs = True
    precedence = 1
    first_checks = (
        *("returns_shapes", "matches_reference", "every_parameter_learns"),
        *("keeps_dtype", "moves_between_devices", "leaves_inputs_alone"),
    )
    inputs_are = "what forward gets by keyword"

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
    inputs_are = "what the loss gets by keyword"
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
    inputs_are = "what the function gets by keyword"
    sizes_by_name = re.compile(r"(^|_)(len|length|tokens)$")
    first_checks = ("matches_reference", "keeps_dtype", "returns_shapes", "leaves_inputs_alone")

    def recognizes(self, definition: Definition) -> bool:
        return not definition.is_class


class Optimizer(Kind):
    """Tried by some steps from the same start, twice."""

    name = KindName.OPTIMIZER
    described = "an optimizer"
    file = "optimizer.py"
    offers_class = True
    adapter = "optimizer"
    handed_first = ("parameters",)
    shared = "parameters and gradients"
    trial = "{entry}([{inputs}], {arguments}), and some steps of it"
    precedence = 2
    inputs_are = "the parameters' first values"
    own_inputs: ClassVar[dict[str, Shape]] = {"weights": ["rows", "columns"], "bias": ["columns"]}
    seen = 5
    """Parameters are compared before the adapter's four steps and after each."""
    outputs: ClassVar[list[Shape] | None] = [[seen, "rows", "columns"], [seen, "columns"], [seen, 2]] * 2
    suggestions = (Suggestion(names=re.compile(r"^(lr|learning_rate)$"), value=0.05, is_required=False),)
    """A step as large as what is compared: a default's may be lost in rounding."""
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

    def parts(self, inputs: list[str], count: int) -> list[str]:  # noqa: ARG002 - see Kind
        names = [f"{name}, step by step" for name in (*inputs, "a parameter without a gradient")]
        return [*names, *(f"{name}, its state dict loaded halfway" for name in names), "what the steps return"]


class TrainingStep(Kind):
    """Tried with a model, an optimizer and batches that are the kit's."""

    name = KindName.TRAINING_STEP
    described = "one step of a training loop, `step(model, optimizer, ...)`"
    file = "training.py"
    offers_function = True
    adapter = "training_step"
    handed_first = ("model", "optimizer")
    adapter_takes_arguments = True
    shared = "model and batches"
    trial = "{entry}(model, optimizer, ...) for each step of {inputs}, with {arguments}"
    precedence = 0
    inputs_are = "what each step gets by keyword, with an axis of steps in front"
    input_axes: ClassVar[Shape] = ["batch"]
    step_axes: ClassVar[Shape] = ["steps"]
    integers_below = "classes"
    outputs: ClassVar[list[Shape] | None] = [["steps", 8, "width"]]
    fixed_batches = (6, 8, 9)
    """Batch norm takes no batch of one, nor half or a third of a batch that is one."""
    random_batches = ([8, 19], [130, 160], [37, 48], 4)
    suggestions = (
        Suggestion(names=re.compile(r"max_norm|clip|max_grad"), value=1000.0, is_required=False, other=0.001),
    )
    """A norm that no gradient reaches, and one that all do: in between, a fault shows in some draws alone."""
    own_checks = (
        OwnCheck(
            id="values_with_an_unused_parameter",
            constructor={"unused": True},
            pattern=r"\.grad is (not )?None",
            about="grad",
        ),
    )
    words = re.compile(r"step|train|update|epoch")
    layers = (
        *("first.weight", "first.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"),
        *("norm.num_batches_tracked", "last.weight", "last.bias"),
    )
    """The state of the adapter's model, in order."""
    after_layers = ("what it returns", "the modes of the model and its layers", "what is drawn at random next")

    def recognizes(self, definition: Definition) -> bool:
        first, second = [*map(str.lower, definition.parameters), "", ""][:2]
        is_named = self.words.search(definition.name) is not None
        return not definition.is_class and is_named and first == "model" and second.startswith("opt")

    def parts(self, inputs: list[str], count: int) -> list[str]:  # noqa: ARG002 - see Kind
        others = count - len(self.layers)  # a step that returns nothing has one value less
        return [*(f"the model's {name}, step by step" for name in self.layers), *self.after_layers[-others:]]

    def own_arguments(self, inputs: str) -> dict[str, Any]:
        return {"width": "width", "outputs": "classes" if "'classes'" in inputs else "width"}


class Dataset(Kind):
    """A dataset or a sampler, of which the items are compared."""

    name = KindName.DATASET
    described = "a dataset or sampler"
    file = "data.py"
    offers_class = True
    adapter = "dataset"
    is_built_from_inputs = True
    trial = "{entry}({inputs}, {arguments}), and its items over two epochs"
    precedence = 2
    inputs_are = "what it is made of, by keyword"
    whole_inputs: ClassVar[dict[str, Any] | None] = {"integers": 50, "shape": ["items"]}
    outputs: ClassVar[list[Shape] | None] = [[1]]
    suggestions = (
        Suggestion(names=re.compile(r"(^|_)(size|len|length|window|context|steps|stride)$"), value=3, is_required=True),
    )
    first_checks = ("matches_reference", "leaves_inputs_alone")

    def recognizes(self, definition: Definition) -> bool:
        is_like_one = bool({"__getitem__", "__iter__"} & {*definition.methods})
        return definition.is_class and ("Dataset" in definition.bases or "Sampler" in definition.bases or is_like_one)


KINDS: dict[KindName, Kind] = {kind.name: kind() for kind in Kind.__subclasses__()}
USUAL_KIND = KindName.MODULE


def recognize(definitions: Sequence[Definition]) -> tuple[Kind, Definition] | None:
    """Return the definition of a file that an exercise is about, and its kind; None where there is none."""
    found = [(kind, each) for each in definitions for kind in KINDS.values() if kind.recognizes(each)]
    precedence = min((kind.precedence for kind, _ in found), default=0)
    entries = [(kind, each) for kind, each in found if kind.precedence == precedence]
    return next(((kind, each) for kind, each in entries if each is entries[-1][1]), None)


def suggested(kind: Kind, names: Collection[str], *, is_required: bool) -> Iterator[tuple[str, Suggestion]]:
    """Yield those of the names for which a kind has a suggestion."""
    for name in names:
        for each in kind.suggestions:
            if each.is_required == is_required and each.names.search(name):
                yield name, each
