"""The built-in properties: what a check in YAML may say, one record each.

A record holds a property's arguments and the facts that describe it, and checks its own arguments. What runs is the
function of `grader/checks/properties/` that is registered for the record.
"""

import builtins
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, get_args
from typing import Literal as OneOf

from msgspec import Struct, field

from grader.spec.fields import (
    Arguments,
    FixedSizes,
    Id,
    Index,
    Inputs,
    Literal,
    MadeInput,
    MaskKind,
    Name,
    Shape,
    Sizes,
    Text,
    shape_of,
)
from grader.spec.interface import Interface
from grader.spec.problem import KeyPath, Problem, listed, nearest, quoted

SAMPLES = "batch"
"""The size that says how many samples there are."""

MaskDtype = OneOf["bool", "int64", "float32", "uint8", "int32", "int16", "int8", "float64", "float16", "bfloat16"]
DTYPES = get_args(MaskDtype)
"""Truth values, and ones and zeros of integers and of floats."""

HALVES = ("bfloat16", "float16")

EXCEPTIONS = [
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
]

QUOTIENT = " // "

AN_ARGUMENT = "an argument of the constructor"


class Property(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    tag_field="property",
    omit_defaults=True,  # some would not pass for what may be given, and are not when it is remembered
):
    """What every property takes."""

    id: Id = ""
    """Names the check in verdicts; the property's name unless given."""
    constructor: Arguments = {}
    """Added to the interface's, or in place of them."""
    inputs: Inputs = {}
    """Added to the interface's, or in place of them; for a `method`, all there are."""
    sizes: FixedSizes = []
    """Walked in place of the exercise's."""
    method: Name = ""
    """Called in place of the module."""
    training: bool = False
    """Whether the module is left in training mode."""
    defaults: tuple[Name, ...] = ()
    """The constructor's arguments that are left out, so that their defaults count."""
    for_: tuple[Id, ...] = field(default=(), name="for")
    """The only defects that it may see when they stand alone; any unless given."""

    needs_reference: ClassVar[bool] = True
    """Whether it compares with the reference, which a student edition does not have."""
    shows_values: ClassVar[bool] = True
    """Whether passing shows that something is computed right: what lacks this shows no defect mended by itself."""
    needs_module: ClassVar[bool] = False
    """Whether it looks at what only a module has: parameters, attributes, devices, training mode."""
    is_slow: ClassVar[bool] = False
    """Whether most of its time is the kit's own, so that it may take the most that any check may."""
    walks_all_size_cases: ClassVar[bool] = False
    """Whether, in its plainest form, it is tried at every size case of the exercise's sizes, not only at both ends."""

    draws_sizes: ClassVar[bool] = False
    """Whether it is tried at sizes drawn anew in each run too, and in calling variants drawn for the uppermost size
    cases.
    """

    draws_equal_sizes: ClassVar[bool] = False
    """Whether it is tried where most of the drawn sizes are equal too: there, axes are easily taken for each other."""

    draws_longest: ClassVar[bool] = False
    """Whether it is tried at the longest of the drawn inputs too, beyond any constant that somebody would write."""

    def variation_source(self) -> str:
        """Python whose class `Variation` is built in place of the submission's; empty where that is built itself."""
        return ""

    def all_inputs(self, interface: Interface) -> dict[str, Any]:
        """The inputs it is tried with: the interface's and its own, or for a method its own alone."""
        return self.inputs if self.method else {**interface.inputs, **self.inputs}

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        """What is wrong with its own arguments; `sizes` are the names that its sizes gives."""
        yield from ()

    def shapes_needed(self, interface: Interface) -> list[Shape]:
        """Shapes of the interface, beside those of its inputs, whose sizes its sizes has to give."""
        return []

    def compares_values(self) -> bool:
        """Whether passing takes the reference's values."""
        return self.needs_reference and self.shows_values

    def tells_of_values(self) -> bool:
        """Whether passing shows that something is computed: not by a property alone, nor at sizes of one."""
        is_tiny = bool(self.sizes) and all(1 in sizes.values() for sizes in self.sizes)
        return self.shows_values and not is_tiny

    def is_plain(self) -> bool:
        """Whether it is tried as the interface says, with nothing added or replaced."""
        return not (self.constructor or self.inputs or self.method)

    def sizes_of_calls(self, sizes: dict[str, int]) -> dict[str, int]:
        """Those of a size case's sizes that what it calls is called with, so that findings may tell them."""
        return {name: size for name, size in sizes.items() if name not in self.constructor}


# Properties of dropout: when it acts, and on what.


class DropoutOnlyInTraining(Property, frozen=True, kw_only=True, tag="dropout_only_in_training"):
    """Dropout draws anew in training, and never in eval mode."""

    needs_module: ClassVar[bool] = True

    shows_values: ClassVar[bool] = False

    draws_longest: ClassVar[bool] = True

    probability: Name = "dropout"
    """The constructor's argument that is the chance of being dropped."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _probability_problems(self, self.probability, interface, path)


class DropoutActsOnWeights(Property, frozen=True, kw_only=True, tag="dropout_acts_on_weights"):
    """In training each attention weight is dropped or scaled up, by a chance of its own, and nothing else changes."""

    needs_module: ClassVar[bool] = True

    shows_values: ClassVar[bool] = False

    probability: Name = "dropout"
    """The constructor's argument that is the chance of being dropped."""
    called: Text = "attention weight"
    """What findings call one of what is dropped."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _probability_problems(self, self.probability, interface, path)


# Properties of what may influence what: later tokens, masked tokens, other samples.


class FutureDoesNotLeak(Property, frozen=True, kw_only=True, tag="future_does_not_leak"):
    """Changing a token leaves the outputs of earlier ones alone, and moves its own or a later one's."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False
    unit: ClassVar[str] = "token"

    input: Name = "x"
    """The input that is changed."""
    axis: int = 1
    """The axis of the tokens."""
    output: Index = 0
    """Which output is looked at."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _input_problems(self.input, self.axis, self.all_inputs(interface), path)
        yield from output_problems(interface, self, self.output, path)


class MaskHides(Property, frozen=True, kw_only=True, tag="mask_hides"):
    """Changing a token that the mask hides from everybody leaves the other tokens' outputs alone."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False
    unit: ClassVar[str] = "token"

    input: Name = "x"
    """The input that is changed."""
    mask: Name = "mask"
    """The input that is the mask."""
    axis: int = 1
    """The axis of the tokens."""
    output: Index = 0
    """Which output is looked at."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _input_problems(self.input, self.axis, self.all_inputs(interface), path)
        yield from _mask_problems(self.mask, MaskKind.PADDING, self.inputs, path)
        yield from output_problems(interface, self, self.output, path)


class SamplesDoNotMix(Property, frozen=True, kw_only=True, tag="samples_do_not_mix"):
    """Changing one sample leaves the outputs of the others alone."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False
    unit: ClassVar[str] = "sample"

    input: Name = "x"
    """The input that is changed."""
    axis: int = 0
    """The axis of the samples."""
    output: Index = 0
    """Which output is looked at."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _input_problems(self.input, self.axis, self.all_inputs(interface), path)
        yield from output_problems(interface, self, self.output, path)


# Properties of masks: every shape and dtype that can say which key is hidden, and rows in which every key is.


class AcceptsMasks(Property, frozen=True, kw_only=True, tag="accepts_masks"):
    """With a mask of each of the shapes, in one dtype after another, outputs equal the reference's."""

    draws_equal_sizes: ClassVar[bool] = True

    shapes: tuple[Shape, ...]
    """The shapes that a mask may have."""
    mask: Name = "mask"
    """The input that is the mask."""
    keys: int = -1
    """The axis of the keys in all of them."""
    dtypes: tuple[MaskDtype, ...] = DTYPES
    """The dtypes that a mask may have."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        for index, shape in enumerate(self.shapes):
            yield from unknown_sizes(shape, sizes, (*path, "shapes", index))
            if not -len(shape) <= self.keys < len(shape):
                yield Problem((*path, "keys"), f"an axis of {shape}", str(self.keys), "write keys: -1")


class MaskedRowsStayFinite(Property, frozen=True, kw_only=True, tag="masked_rows_stay_finite"):
    """A query that may look at no key gets zero weights, and no NaN spreads from it."""

    shows_values: ClassVar[bool] = False

    mask: Name = "mask"
    """The input that is the mask."""
    axis: int = 1
    """The axis of the tokens."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _mask_problems(self.mask, MaskKind.DEAD_ROW, self.all_inputs(interface), path)


class OtherRowsMatchReference(Property, frozen=True, kw_only=True, tag="other_rows_match_reference"):
    """A mask that hides everything from one query leaves the other queries what the reference gives them."""

    mask: Name = "mask"
    """The input that is the mask."""
    axes: tuple[int, ...] = (1,)
    """The axis of the queries in each output."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _mask_problems(self.mask, MaskKind.DEAD_ROW, self.all_inputs(interface), path)
        outputs = interface.outputs
        if len(self.axes) != len(outputs):
            remedy = f"write axes: {[1] * len(outputs)}"
            yield Problem((*path, "axes"), f"an axis for each of {len(outputs)} outputs", str(len(self.axes)), remedy)


# The property of what cannot work: it is refused, with the right exception, however it is called.


class Raises(Property, frozen=True, kw_only=True, tag="raises"):
    """What cannot work is refused with the right exception; its message has to name the numbers where promised."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    at: OneOf["call", "constructor"] = "call"
    """When it is refused."""
    errors: tuple[Name, ...] = ("ValueError",)
    """The exceptions that will do, and those derived from them."""
    mentions: tuple[Name | int, ...] = ()
    """The sizes and numbers that the message should say."""
    must_mention: bool = False
    """Whether it has to say them, where a promise is that it does."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from unknown_sizes(self.mentions, sizes, (*path, "mentions"))
        yield from _exception_problems(self.errors, path)


# Properties of how a module behaves among others: prints, inputs, attributes, layers.


class LeavesInputsAlone(Property, frozen=True, kw_only=True, tag="leaves_inputs_alone"):
    """The tensors handed in are the same after the call."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False


class PrintsNothing(Property, frozen=True, kw_only=True, tag="prints_nothing"):
    """A call writes nothing to stdout."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False
    draws_longest: ClassVar[bool] = True

    building: bool = False
    """Whether building the module must be silent too."""
    after: Inputs = field(default_factory=dict)
    """Given to one more call, added to the inputs or in place of them: it may print, and the call after it may not."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from made_inputs(self.after, (*path, "after"))


class Prints(Property, frozen=True, kw_only=True, tag="prints"):
    """A call writes something to stdout."""

    needs_reference: ClassVar[bool] = False


class AttributeEquals(Property, frozen=True, kw_only=True, tag="attribute_equals"):
    """An attribute that the interface names has its value."""

    needs_module: ClassVar[bool] = True

    needs_reference: ClassVar[bool] = False

    name: Name
    """The attribute."""
    equals: Literal
    """Its value; the name of a size stands for that size, `a // b` for how often one goes into another."""
    any_number: bool = False
    """Whether a number of another type will do, where its value is the same."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        value = self.equals
        parts = value.split(QUOTIENT) if isinstance(value, str) else []
        if len(parts) > 1 or (value not in sizes and (value == self.name or nearest(str(value), sizes))):
            yield from unknown_sizes(parts, sizes, (*path, "equals"), is_item=False)


class HasLayer(Property, frozen=True, kw_only=True, tag="has_layer"):
    """What the interface names is there, and is a layer of torch's class where it says so."""

    needs_module: ClassVar[bool] = True

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    name: Text
    """The attribute, or one of an attribute, as in `attention.dropout`."""
    layer: Name = ""
    """The class in `torch.nn` that it is of; anything will do unless given."""


# Properties of what a module keeps: its state dict, what a call leaves to the next, what moves between devices.


class KeepsStateDict(Property, frozen=True, kw_only=True, tag="keeps_state_dict"):
    """The state dict has the reference's keys and shapes, buffers included, and loads strictly both ways."""

    shows_values: ClassVar[bool] = False

    free_buffers: bool = False
    """Whether the submission may save other buffers than the reference, or none."""


class CallsInTurn(Property, frozen=True, kw_only=True, tag="calls_in_turn"):
    """Called again and again, each time with inputs of other sizes, one module returns what the reference does."""

    calls: tuple[Sizes, ...]
    """The sizes that are others in each call, in order."""
    then: Inputs = field(default_factory=dict)
    """Added to the inputs, or in place of them, from the second call on."""
    after_each: Name = ""
    """A method that is called after each call, with nothing."""
    evaluates_last: bool = False
    """Whether the last call is made in eval mode, to show what those before it left."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        for index, call in enumerate(self.calls):
            yield from unknown_sizes(call, sizes, (*path, "calls", index), is_item=False)

    def sizes_of_calls(self, sizes: dict[str, int]) -> dict[str, int]:
        own = {name for call in self.calls for name in call}
        return {name: size for name, size in super().sizes_of_calls(sizes).items() if name not in own}


class MovesBetweenDevices(Property, frozen=True, kw_only=True, tag="moves_between_devices"):
    """Moved to another device, the module works there: nothing that it computes with stays behind."""

    needs_module: ClassVar[bool] = True
    is_slow: ClassVar[bool] = True  # torch completes its import
    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False


# Properties of what must make no difference: the order and split of samples, padding, a shift of places, a dtype.


class SamplesInAnyOrder(Property, frozen=True, kw_only=True, tag="samples_in_any_order"):
    """A batch in reversed order, or in two parts, gives each sample the output that it has in the whole batch."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    output: Index = 0
    """Which output is looked at."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from output_problems(interface, self, self.output, path)
        shapes = [*self.all_inputs(interface).values(), *interface.outputs[self.output : self.output + 1]]
        if not all(any(SAMPLES in shape_of(each) for each in some) for some in (shapes[:-1], shapes[-1:])):
            remedy = f"name the axis of the samples {SAMPLES}, in an input and in the output"
            yield Problem(path, f"samples along an axis called {SAMPLES}", "none", remedy)


class UnchangedBy(Property, frozen=True, kw_only=True, tag="unchanged_by"):
    """A module with other values for some arguments of forward, and one without, give the same, up to rounding."""

    shows_values: ClassVar[bool] = False

    instead: Inputs
    """The arguments and their other values, as they stand."""
    dtype: Name = ""
    """The dtype of module and inputs; as they are unless given. In half precision much more is rounding."""
    loudness: float = 1.0
    """How many times as large the inputs are as usual."""
    output: Index = 0
    """Which output is looked at."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from output_problems(interface, self, self.output, path)
        yield from made_inputs(self.instead, (*path, "instead"))


class PaddingChangesNothing(Property, frozen=True, kw_only=True, tag="padding_changes_nothing"):
    """What a padding mask hides may as well be cut off: the output at the tokens that stay is the same."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    tokens: Name = "tokens"
    """The size that counts the tokens, in the shapes of inputs and outputs."""
    mask: Name = "mask"
    """The input that is the mask."""
    output: Index = 0
    """Which output is looked at."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from output_problems(interface, self, self.output, path)
        yield from unknown_name("a size that the sizes gives", self.tokens, sizes, (*path, "tokens"))
        spec = self.all_inputs(interface).get(self.mask)
        if not (isinstance(spec, MadeInput) and spec.mask is MaskKind.PADDING):
            found = quoted(str(spec.mask)) if isinstance(spec, MadeInput) else "no mask"
            remedy = f"write inputs: {{{self.mask}: {{mask: padding, shape: [batch, {self.tokens}]}}}}"
            yield Problem((*path, "mask"), "a padding mask", found, remedy)


# Properties as tutorials test them. They pass on much that is wrong: `missed_by` shows a student on what.


class LossFalls(Property, frozen=True, kw_only=True, tag="loss_falls"):
    """Twenty short steps of gradient descent on one batch make a loss smaller."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False
    needs_module: ClassVar[bool] = True


class RepeatsWithASeed(Property, frozen=True, kw_only=True, tag="repeats_with_a_seed"):
    """After `torch.manual_seed` with the same number, two calls give the same."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False
    needs_module: ClassVar[bool] = True


# Properties of what is computed: values, shapes, gradients, weights.


class MatchesReference(Property, frozen=True, kw_only=True, tag="matches_reference"):
    """Outputs (and gradients) equal the reference's, given the same weights and inputs."""

    walks_all_size_cases: ClassVar[bool] = True
    draws_sizes: ClassVar[bool] = True

    gradients: bool = True
    """Whether gradients are compared too."""
    variation: str = ""
    """Python that defines a class `Variation` of `submission`'s, which is built in place of its own."""

    def variation_source(self) -> str:
        return self.variation


class ReturnsShapes(Property, frozen=True, kw_only=True, tag="returns_shapes"):
    """Outputs have the shapes the interface declares, at every size."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    def shapes_needed(self, interface: Interface) -> list[Shape]:
        return interface.outputs


class EveryParameterLearns(Property, frozen=True, kw_only=True, tag="every_parameter_learns"):
    """Each parameter gets a gradient wherever the reference's does."""

    needs_module: ClassVar[bool] = True
    shows_values: ClassVar[bool] = False

    parameters: tuple[Text, ...] = ()
    """The names of those that are looked at; all of them unless given."""


class RowsSumToOne(Property, frozen=True, kw_only=True, tag="rows_sum_to_one"):
    """The attention weights, returned or kept in an attribute, sum to one along `axis`."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    output: Index = 1
    """Which output holds the weights."""
    attribute: Name = ""
    """The attribute that keeps the weights, where no output holds them."""
    axis: int = -1
    """The axis of the keys."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        outputs = interface.outputs
        if self.attribute:
            return
        yield from output_problems(interface, self, self.output, path)
        if self.method or self.output >= len(outputs):
            return
        rank = len(outputs[self.output])
        if not -rank <= self.axis < rank:
            what = f"an axis of the output, from 0 to {rank - 1}"
            yield Problem((*path, "axis"), what, str(self.axis), "write axis: -1")


class KeepsDtype(Property, frozen=True, kw_only=True, tag="keeps_dtype"):
    """A module in float64 takes and returns float64, with the precision of float32 at least."""

    precise: bool = False
    """Whether the values must have the precision of the dtype too."""
    dtype: Name = "float64"
    """Another dtype, of which two digits have to be right unless it is `precise`."""
    loudness: float = 1.0
    """How many times as large the inputs are as usual."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from unknown_name("a dtype", self.dtype, [*HALVES, "float64"], (*path, "dtype"))


class KeepsParameters(Property, frozen=True, kw_only=True, tag="keeps_parameters"):
    """The parameters have the reference's names and shapes, no fewer and no more."""

    needs_module: ClassVar[bool] = True

    shows_values: ClassVar[bool] = False


class AttributeMatchesReference(Property, frozen=True, kw_only=True, tag="attribute_matches_reference"):
    """After a call, a tensor kept in an attribute equals the reference's."""

    needs_module: ClassVar[bool] = True

    name: Name
    """The attribute."""

    def compares_values(self) -> bool:
        """What is kept aside says nothing of what is returned."""
        return False


class WeightsTransfer(Property, frozen=True, kw_only=True, tag="weights_transfer"):
    """The state dict of one module loads into one of other sizes, which then computes what the reference does."""

    needs_module: ClassVar[bool] = True

    to: Sizes
    """The sizes that are others in the module that receives the weights."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        for name in self.to:
            yield from unknown_sizes([name], sizes, (*path, "to", name), is_item=False)


AnyProperty = (
    DropoutOnlyInTraining
    | DropoutActsOnWeights
    | FutureDoesNotLeak
    | MaskHides
    | SamplesDoNotMix
    | AcceptsMasks
    | MaskedRowsStayFinite
    | OtherRowsMatchReference
    | Raises
    | LeavesInputsAlone
    | PrintsNothing
    | Prints
    | AttributeEquals
    | HasLayer
    | KeepsStateDict
    | CallsInTurn
    | MovesBetweenDevices
    | SamplesInAnyOrder
    | UnchangedBy
    | PaddingChangesNothing
    | LossFalls
    | RepeatsWithASeed
    | MatchesReference
    | ReturnsShapes
    | EveryParameterLearns
    | RowsSumToOne
    | KeepsDtype
    | KeepsParameters
    | AttributeMatchesReference
    | WeightsTransfer
)

PROPERTIES: dict[str, type[Property]] = {str(record.__struct_config__.tag): record for record in get_args(AnyProperty)}
"""Each property's record by the name that YAML gives it."""


def unknown_sizes(names: Iterable[Any], sizes: set[str], path: KeyPath, *, is_item: bool = True) -> Iterator[Problem]:
    """Names that no size case gives; `is_item` where each lies in a list at the path."""
    for index, name in enumerate(names):
        if isinstance(name, str) and name not in sizes:
            near = nearest(name, sizes)
            remedy = f"write {near}" if near else "write one of them, or add it to every size case"
            known = f"a size that `sizes` gives: {listed(sorted(sizes), 'or')}"
            yield Problem((*path, index) if is_item else path, known, quoted(name), remedy)


def unknown_name(what: str, name: str, known: Iterable[str], path: KeyPath) -> Iterator[Problem]:
    """A name that is not among those declared."""
    names = list(known)
    if name not in names:
        near = nearest(name, names) or (names[0] if len(names) == 1 else "")
        key = f"{path[-1]}: " if isinstance(path[-1], str) else ""
        remedy = f"write {key}{near}" if near else f"write one of them, or declare {name} too"
        yield Problem(path, f"{what}: {listed(names, 'or')}", quoted(name), remedy)


def made_inputs(inputs: Inputs, path: KeyPath) -> Iterator[Problem]:
    """Tensors where plain values are given as they stand."""
    for name, value in inputs.items():
        if isinstance(value, list | MadeInput):
            yield Problem((*path, name), "a plain value", "a tensor", "write a number or a truth value")


def output_problems(interface: Interface, check: Property, output: int, path: KeyPath) -> Iterator[Problem]:
    """An output that the interface does not declare."""
    outputs = interface.outputs
    if outputs and not check.method and output >= len(outputs):
        what = f"an output from 0 to {len(outputs) - 1}" if len(outputs) > 1 else "0, the only output"
        yield Problem((*path, "output"), what, str(output), f"write output: {len(outputs) - 1}")


def _input_problems(name: str, axis: int, inputs: dict[str, Any], path: KeyPath) -> Iterator[Problem]:
    shapes = {each: spec.shape if isinstance(spec, MadeInput) else spec for each, spec in inputs.items()}
    tensors = {each: shape for each, shape in shapes.items() if isinstance(shape, list)}
    yield from unknown_name("an input", name, tensors, (*path, "input"))
    if name in tensors and not -len(tensors[name]) <= axis < len(tensors[name]):
        rank = len(tensors[name])
        yield Problem((*path, "axis"), f"an axis of {name}, from 0 to {rank - 1}", str(axis), f"write axis: {rank - 1}")


def _mask_problems(name: str, kind: MaskKind, inputs: dict[str, Any], path: KeyPath) -> Iterator[Problem]:
    masks = {each: spec for each, spec in inputs.items() if isinstance(spec, MadeInput) and spec.is_mask()}
    if not masks:
        remedy = f"write inputs: {{{name}: {{mask: {kind}, shape: [tokens, tokens]}}}}"
        yield Problem((*path, "mask"), "a mask among the check's inputs", "none", remedy)
        return
    yield from unknown_name("a mask", name, masks, (*path, "mask"))
    if name in masks and masks[name].mask is not kind:
        at = (*path, "inputs", name, "mask")
        yield Problem(at, f"{kind}, which this property looks at", str(masks[name].mask), f"write mask: {kind}")


def _exception_problems(errors: tuple[str, ...], path: KeyPath) -> Iterator[Problem]:
    """Misspelt exceptions; a name unlike any of Python's may be one that the submission defines."""
    if not errors:
        yield Problem((*path, "errors"), "at least one exception", "none", "write errors: [ValueError]")
    for index, name in enumerate(errors):
        near = nearest(name, EXCEPTIONS)
        if near and name not in EXCEPTIONS:
            yield Problem((*path, "errors", index), "an exception", quoted(name), f"write {near}")


def _probability_problems(check: Property, name: str, interface: Interface, path: KeyPath) -> Iterator[Problem]:
    """A probability that no argument of the constructor is."""
    constructor = {**interface.constructor, **check.constructor}
    yield from unknown_name(AN_ARGUMENT, name, constructor, (*path, "probability"))
