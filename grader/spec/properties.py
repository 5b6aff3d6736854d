"""One record for each built-in property, with the arguments that YAML may give.

A record also validates its arguments and states facts about the property. The code that runs is the function in
`grader/checks/properties/` that is registered for the record.
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
"""The name of the size that is the number of samples."""

MaskDtype = OneOf["bool", "int64", "float32", "uint8", "int32", "int16", "int8", "float64", "float16", "bfloat16"]
DTYPES = get_args(MaskDtype)
"""The dtypes of masks: booleans, and ones and zeros as integers and floats."""

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
    omit_defaults=True,  # a default such as id="" would not be valid if it were read back from the cache
):
    """The arguments of every property."""

    id: Id = ""
    """The check's name in verdicts. Default: the property's name."""
    constructor: Arguments = {}
    """Arguments that are added to the interface's `constructor` or replace them."""
    inputs: Inputs = {}
    """Inputs that are added to the interface's or replace them. A `method` gets only these."""
    sizes: FixedSizes = []
    """The check's own size cases. Default: the exercise's."""
    method: Name = ""
    """The method to call. Default: the module itself."""
    training: bool = False
    """Whether the module stays in training mode."""
    defaults: tuple[Name, ...] = ()
    """Constructor arguments to leave out, so that their default values are tested."""
    for_: tuple[Id, ...] = field(default=(), name="for")
    """The defects that may fail this check if they are the only defect. Default: every defect."""

    needs_reference: ClassVar[bool] = True
    """Whether the check compares with the reference, which a student edition does not have."""
    checks_values: ClassVar[bool] = True
    """Whether the check passes only if values are right. Other checks alone never show that a defect is fixed."""
    only_compared: ClassVar[frozenset[str]] = frozenset()
    """The dtypes of the reference's values that the check only compares, with the tolerance for that dtype, and uses
    for nothing else."""
    needs_module: ClassVar[bool] = False
    """Whether the check uses parameters, attributes, devices or training mode, which only modules have."""
    is_slow: ClassVar[bool] = False
    """Whether the kit itself needs most of the check's time. Such a check gets the full time limit."""
    walks_all_size_cases: ClassVar[bool] = False
    """Whether the check, without arguments of its own, runs at all size cases instead of the first and the last."""

    uses_random_sizes: ClassVar[bool] = False
    """Whether the check also runs at random sizes. The calling variants are then distributed over the largest size
    cases."""

    uses_equal_sizes: ClassVar[bool] = False
    """Whether the check also runs at random sizes that are mostly equal, where code easily confuses two axes."""

    uses_longest_input: ClassVar[bool] = False
    """Whether the check also runs at the longest random input, longer than a constant that somebody would write."""

    def variation_class(self) -> str:
        """Return the name of the class in `variations.py` that replaces the submission's; empty if none does."""
        return ""

    def uses_calling_variants(self) -> bool:
        """Return whether the check also calls the module in calling variants, where its kind of subject has them."""
        return self.uses_random_sizes and not self.variation_class()

    def all_inputs(self, interface: Interface) -> dict[str, Any]:
        """Return the inputs of the check: the interface's and its own, or only its own for a method."""
        return self.inputs if self.method else {**interface.inputs, **self.inputs}

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        """Yield a problem for each wrong argument; `sizes` has the names of the sizes in the check's size cases."""
        yield from ()

    def shapes_needed(self, interface: Interface) -> list[Shape]:
        """Return shapes, other than those of inputs, whose sizes every size case of the check must give."""
        return []

    def compares_values(self) -> bool:
        """Return whether the check compares values with the reference's."""
        return self.needs_reference and self.checks_values

    def shows_right_values(self) -> bool:
        """Return whether a pass shows that values are right. At sizes of 1, wrong code may compute right values."""
        is_tiny = bool(self.sizes) and all(1 in sizes.values() for sizes in self.sizes)
        return self.checks_values and not is_tiny

    def is_plain(self) -> bool:
        """Return whether the check uses the interface without additions or replacements."""
        return not (self.constructor or self.inputs or self.method)

    def sizes_of_calls(self, sizes: dict[str, int]) -> dict[str, int]:
        """Return the sizes of a size case that the check's calls depend on; findings name only these."""
        return {name: size for name, size in sizes.items() if name not in self.constructor}

    def largest_size(self, sizes: dict[str, int]) -> int:
        """Return the largest size of the calls at a size case."""
        return max(sizes.values(), default=0)


# Dropout: when it acts, and on which values.


class DropoutOnlyInTraining(Property, frozen=True, kw_only=True, tag="dropout_only_in_training"):
    """Dropout acts in training mode, differently in each call, and never in eval mode."""

    needs_module: ClassVar[bool] = True

    checks_values: ClassVar[bool] = False

    uses_longest_input: ClassVar[bool] = True

    probability: Name = "dropout"
    """The constructor's argument for the probability of dropping a value."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _probability_problems(self, self.probability, interface, path)


class DropoutActsOnWeights(Property, frozen=True, kw_only=True, tag="dropout_acts_on_weights"):
    """In training mode each attention weight is either dropped, independently of the others, or scaled up."""

    needs_module: ClassVar[bool] = True

    checks_values: ClassVar[bool] = False

    probability: Name = "dropout"
    """The constructor's argument for the probability of dropping a value."""
    called: Text = "attention weight"
    """The name that findings use for one dropped value."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _probability_problems(self, self.probability, interface, path)


# Influence: later tokens, masked tokens, other samples.


class FutureDoesNotLeak(Property, frozen=True, kw_only=True, tag="future_does_not_leak"):
    """Changing a token changes its own output or a later token's, and no earlier token's output."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    input: Name = "x"
    """The input that is changed."""
    axis: int = 1
    """The axis of the tokens."""
    output: Index = 0
    """The index of the output to check."""
    loudness: float = 400.0
    """The factor by which large inputs are larger than usual."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _input_and_axis_problems(self.input, self.axis, self.all_inputs(interface), path)
        yield from output_problems(interface, self, self.output, path)


class MaskHides(Property, frozen=True, kw_only=True, tag="mask_hides"):
    """Changing a token that the mask hides from all queries does not change the other tokens' outputs."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    input: Name = "x"
    """The input that is changed."""
    mask: Name = "mask"
    """The input that is the mask."""
    axis: int = 1
    """The axis of the tokens."""
    output: Index = 0
    """The index of the output to check."""
    loudness: float = 400.0
    """The factor by which large inputs are larger than usual."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _input_and_axis_problems(self.input, self.axis, self.all_inputs(interface), path)
        yield from _mask_of_kind_problems(self.mask, MaskKind.PADDING, self.inputs, path)
        yield from output_problems(interface, self, self.output, path)


class SamplesDoNotMix(Property, frozen=True, kw_only=True, tag="samples_do_not_mix"):
    """Changing one sample does not change the outputs of the other samples."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    input: Name = "x"
    """The input that is changed."""
    axis: int = 0
    """The axis of the samples."""
    output: Index = 0
    """The index of the output to check."""
    loudness: float = 400.0
    """The factor by which a sample is larger than usual in another call."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _input_and_axis_problems(self.input, self.axis, self.all_inputs(interface), path)
        yield from output_problems(interface, self, self.output, path)


# Masks: their shapes and dtypes, and queries for which every key is hidden.


class AcceptsMasks(Property, frozen=True, kw_only=True, tag="accepts_masks"):
    """Outputs equal the reference's for masks of every given shape and dtype."""

    uses_equal_sizes: ClassVar[bool] = True

    shapes: tuple[Shape, ...]
    """The shapes that a mask may have."""
    mask: Name = "mask"
    """The input that is the mask."""
    keys: int = -1
    """The axis of the keys in every shape."""
    dtypes: tuple[MaskDtype, ...] = DTYPES
    """The dtypes that a mask may have."""
    loudness: float = 400.0
    """The factor by which inputs are larger where each query sees a single key."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        for index, shape in enumerate(self.shapes):
            yield from unknown_sizes(shape, sizes, (*path, "shapes", index))
            if not -len(shape) <= self.keys < len(shape):
                yield Problem(
                    path=(*path, "keys"), expected=f"an axis of {shape}", found=str(self.keys), remedy="write keys: -1"
                )


class MaskedRowsStayFinite(Property, frozen=True, kw_only=True, tag="masked_rows_stay_finite"):
    """A query for which the mask hides every key gets zero weights and spreads no NaN."""

    checks_values: ClassVar[bool] = False

    mask: Name = "mask"
    """The input that is the mask."""
    axis: int = 1
    """The axis of the tokens."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _mask_of_kind_problems(self.mask, MaskKind.DEAD_ROW, self.all_inputs(interface), path)


class OtherRowsMatchReference(Property, frozen=True, kw_only=True, tag="other_rows_match_reference"):
    """If a mask hides every key from one query, the outputs of the other queries equal the reference's."""

    mask: Name = "mask"
    """The input that is the mask."""
    axes: tuple[int, ...] = (1,)
    """The axis of the queries in each output."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from _mask_of_kind_problems(self.mask, MaskKind.DEAD_ROW, self.all_inputs(interface), path)
        outputs = interface.outputs
        if len(self.axes) != len(outputs):
            remedy = f"write axes: {[1] * len(outputs)}"
            yield Problem(
                path=(*path, "axes"),
                expected=f"an axis for each of {len(outputs)} outputs",
                found=str(len(self.axes)),
                remedy=remedy,
            )


# Errors: invalid arguments and inputs raise the right exception, in every calling variant.


class Raises(Property, frozen=True, kw_only=True, tag="raises"):
    """Invalid arguments or inputs raise the right exception; if required, its message names the given numbers."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    at: OneOf["call", "constructor"] = "call"
    """What must raise: the call or the constructor."""
    errors: tuple[Name, ...] = ("ValueError",)
    """The accepted exceptions; their subclasses are accepted too."""
    mentions: tuple[Name | int, ...] = ()
    """The sizes and numbers that the message should name."""
    must_mention: bool = False
    """Whether the check fails if the message does not name them."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from unknown_sizes(self.mentions, sizes, (*path, "mentions"))
        yield from _exception_problems(self.errors, path)


# Side effects and structure: printed text, inputs, attributes, layers.


class LeavesInputsAlone(Property, frozen=True, kw_only=True, tag="leaves_inputs_alone"):
    """A call does not change its input tensors."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False


class PrintsNothing(Property, frozen=True, kw_only=True, tag="prints_nothing"):
    """A call writes nothing to stdout."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False
    uses_longest_input: ClassVar[bool] = True

    building: bool = False
    """Whether the constructor must print nothing either."""
    after: Inputs = field(default_factory=dict)
    """Inputs, added to the others or replacing them, of an extra call that may print. The next call must not print."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from tensor_problems(self.after, (*path, "after"))


class Prints(Property, frozen=True, kw_only=True, tag="prints"):
    """A call writes something to stdout."""

    needs_reference: ClassVar[bool] = False


class AttributeEquals(Property, frozen=True, kw_only=True, tag="attribute_equals"):
    """An attribute that the interface promises has its value."""

    needs_module: ClassVar[bool] = True

    needs_reference: ClassVar[bool] = False

    name: Name
    """The attribute."""
    equals: Literal
    """Its value. The name of a size stands for that size, and `a // b` for the quotient of two sizes."""
    any_number: bool = False
    """Whether an equal number of another type is accepted."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        value = self.equals
        parts = value.split(QUOTIENT) if isinstance(value, str) else []
        if len(parts) > 1 or (value not in sizes and (value == self.name or nearest(str(value), sizes))):
            yield from unknown_sizes(parts, sizes, (*path, "equals"), is_item=False)


class HasLayer(Property, frozen=True, kw_only=True, tag="has_layer"):
    """An attribute that the interface promises exists and is a layer, of the right class if the interface names one."""

    needs_module: ClassVar[bool] = True

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    name: Text
    """The attribute, which may be nested: `attention.dropout`."""
    layer: Name = ""
    """The layer's class in `torch.nn`. Default: any class."""


# State: the state dict, successive calls, devices.


class KeepsStateDict(Property, frozen=True, kw_only=True, tag="keeps_state_dict"):
    """The state dict has the reference's keys and shapes; each of the two modules loads the other's strictly."""

    checks_values: ClassVar[bool] = False

    free_buffers: bool = False
    """Whether the submission may have buffers that the reference does not have, and the other way round."""


class CallsInTurn(Property, frozen=True, kw_only=True, tag="calls_in_turn"):
    """Successive calls of one module, with inputs of different sizes, return what the reference returns."""

    only_compared: ClassVar[frozenset[str]] = frozenset({"float32", "float64"})

    calls: tuple[Sizes, ...]
    """For each call, the sizes that it changes."""
    then: Inputs = field(default_factory=dict)
    """Inputs that are added or replaced from the second call on."""
    after_each: Name = ""
    """A method to call without arguments after each call."""
    evaluates_last: bool = False
    """Whether the last call is made in eval mode, which shows the state that earlier calls left."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        for index, call in enumerate(self.calls):
            yield from unknown_sizes(call, sizes, (*path, "calls", index), is_item=False)

    def sizes_of_calls(self, sizes: dict[str, int]) -> dict[str, int]:
        own = {name for call in self.calls for name in call}
        return {name: size for name, size in super().sizes_of_calls(sizes).items() if name not in own}

    def shows_right_values(self) -> bool:
        return self.checks_values  # the calls have larger sizes

    def largest_size(self, sizes: dict[str, int]) -> int:
        return max([super().largest_size(sizes), *(size for call in self.calls for size in call.values())])


class MovesBetweenDevices(Property, frozen=True, kw_only=True, tag="moves_between_devices"):
    """A module that is moved to another device works there: all tensors that it uses are moved with it."""

    needs_module: ClassVar[bool] = True
    is_slow: ClassVar[bool] = True  # the first use of a device makes torch import further modules
    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    variation: Name = ""
    """A class in `variations.py`, which is built in place of the submission's class."""

    def variation_class(self) -> str:
        return self.variation


# Invariance: changes that must not change the result.


class SamplesInAnyOrder(Property, frozen=True, kw_only=True, tag="samples_in_any_order"):
    """A sample's output does not change if the batch is reversed or split in two."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    output: Index = 0
    """The index of the output to check."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from output_problems(interface, self, self.output, path)
        inputs, outputs = self.all_inputs(interface).values(), interface.outputs[self.output : self.output + 1]
        if not all(any(SAMPLES in shape_of(spec) for spec in specs) for specs in (inputs, outputs)):
            remedy = f"name the axis of the samples {SAMPLES}, in an input and in the output"
            yield Problem(path=path, expected=f"samples along an axis called {SAMPLES}", found="none", remedy=remedy)


class UnchangedBy(Property, frozen=True, kw_only=True, tag="unchanged_by"):
    """Other values for some arguments of forward do not change the output, up to rounding."""

    checks_values: ClassVar[bool] = False

    instead: Inputs
    """The arguments with their other values."""
    dtype: Name = ""
    """The dtype of module and inputs; half precision has a larger tolerance. Default: the usual dtype."""
    loudness: float = 1.0
    """The factor by which the inputs are larger than usual."""
    output: Index = 0
    """The index of the output to check."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from output_problems(interface, self, self.output, path)
        yield from tensor_problems(self.instead, (*path, "instead"))


class PaddingChangesNothing(Property, frozen=True, kw_only=True, tag="padding_changes_nothing"):
    """Cutting off the tokens that a padding mask hides does not change the outputs of the other tokens."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    tokens: Name = "tokens"
    """The name of the size that is the number of tokens, in the shapes of inputs and outputs."""
    mask: Name = "mask"
    """The input that is the mask."""
    output: Index = 0
    """The index of the output to check."""

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from output_problems(interface, self, self.output, path)
        yield from unknown_name("a name in the size cases", self.tokens, sizes, (*path, "tokens"))
        spec = self.all_inputs(interface).get(self.mask)
        if not (isinstance(spec, MadeInput) and spec.mask is MaskKind.PADDING):
            found = quoted(str(spec.mask)) if isinstance(spec, MadeInput) else "no mask"
            remedy = f"write inputs: {{{self.mask}: {{mask: padding, shape: [batch, {self.tokens}]}}}}"
            yield Problem(path=(*path, "mask"), expected="a padding mask", found=found, remedy=remedy)


# Tests that tutorials use. Much wrong code passes them; a defect's `missed_by` lists those that miss it.


class LossFalls(Property, frozen=True, kw_only=True, tag="loss_falls"):
    """Twenty short steps of gradient descent on one batch reduce a loss."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False
    needs_module: ClassVar[bool] = True


class RepeatsWithASeed(Property, frozen=True, kw_only=True, tag="repeats_with_a_seed"):
    """Two calls after `torch.manual_seed` with the same number return the same values."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False
    needs_module: ClassVar[bool] = True


# Values, shapes, gradients and weights.


class MatchesReference(Property, frozen=True, kw_only=True, tag="matches_reference"):
    """Outputs and gradients equal the reference's, given equal weights and inputs."""

    only_compared: ClassVar[frozenset[str]] = frozenset({"float32", "float64"})
    walks_all_size_cases: ClassVar[bool] = True
    uses_random_sizes: ClassVar[bool] = True

    gradients: bool = True
    """Whether gradients are compared too."""
    calling_variants: bool = True
    """Whether the module is also called in calling variants."""
    variation: Name = ""
    """A class in `variations.py`, which is built in place of the submission's class."""
    called: Text = ""
    """The variation's calls in words, for findings."""

    def variation_class(self) -> str:
        return self.variation

    def uses_calling_variants(self) -> bool:
        return super().uses_calling_variants() and self.calling_variants

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        if self.called and not self.variation:
            remedy = "write a variation, or remove called"
            yield Problem(path=(*path, "called"), expected="a variation", found="none", remedy=remedy)


class ReturnsShapes(Property, frozen=True, kw_only=True, tag="returns_shapes"):
    """Outputs have the shapes that the interface declares."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    def shapes_needed(self, interface: Interface) -> list[Shape]:
        return interface.outputs


class EveryParameterLearns(Property, frozen=True, kw_only=True, tag="every_parameter_learns"):
    """Each parameter has a gradient wherever the reference's parameter has one."""

    needs_module: ClassVar[bool] = True
    checks_values: ClassVar[bool] = False

    parameters: tuple[Text, ...] = ()
    """The names of the parameters to check. Default: all parameters."""


class RowsSumToOne(Property, frozen=True, kw_only=True, tag="rows_sum_to_one"):
    """The attention weights, from an output or an attribute, sum to one along `axis`."""

    needs_reference: ClassVar[bool] = False
    checks_values: ClassVar[bool] = False

    output: Index = 1
    """The index of the output with the weights."""
    attribute: Name = ""
    """The attribute with the weights, if no output has them."""
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
            expected = f"an axis of the output, from 0 to {rank - 1}"
            yield Problem(path=(*path, "axis"), expected=expected, found=str(self.axis), remedy="write axis: -1")


class KeepsDtype(Property, frozen=True, kw_only=True, tag="keeps_dtype"):
    """A module in float64 accepts and returns float64, and computes in float64."""

    only_compared: ClassVar[frozenset[str]] = frozenset({"float64"})  # in half precision, float32 has another tolerance
    uses_longest_input: ClassVar[bool] = True

    precise: bool = True
    """Whether values must have the dtype's full precision. Without it, float32's precision suffices in float64, and two
    digits suffice in half precision.
    """
    dtype: Name = "float64"
    """The dtype of module and inputs."""
    loudness: float = 1.0
    """The factor by which the inputs are larger than usual."""

    def in_float64(self) -> bool:
        """Return whether values must have the precision of float64."""
        return self.precise and self.dtype == "float64"

    def argument_problems(self, interface: Interface, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from unknown_name("a dtype", self.dtype, [*HALVES, "float64"], (*path, "dtype"))


class KeepsParameters(Property, frozen=True, kw_only=True, tag="keeps_parameters"):
    """The parameters have exactly the reference's names and shapes."""

    needs_module: ClassVar[bool] = True

    checks_values: ClassVar[bool] = False


class InitialWeights(Property, frozen=True, kw_only=True, tag="initial_weights"):
    """The parameters of new modules have the reference's mean and spread, and are zero where the reference's are."""

    needs_module: ClassVar[bool] = True

    checks_values: ClassVar[bool] = False


class AttributeMatchesReference(Property, frozen=True, kw_only=True, tag="attribute_matches_reference"):
    """After a call, a tensor in an attribute equals the reference's."""

    needs_module: ClassVar[bool] = True

    name: Name
    """The attribute."""

    def compares_values(self) -> bool:
        """Return False: an attribute's values show nothing about the returned values."""
        return False


class WeightsTransfer(Property, frozen=True, kw_only=True, tag="weights_transfer"):
    """The state dict loads into a module of other sizes, which then computes the reference's values."""

    needs_module: ClassVar[bool] = True

    to: Sizes
    """The sizes that differ in the module that loads the state dict."""

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
    | InitialWeights
    | AttributeMatchesReference
    | WeightsTransfer
)

PROPERTIES: dict[str, type[Property]] = {str(record.__struct_config__.tag): record for record in get_args(AnyProperty)}
"""Each property's record by its name in YAML."""


def unknown_sizes(names: Iterable[Any], sizes: set[str], path: KeyPath, *, is_item: bool = True) -> Iterator[Problem]:
    """Yield a problem for each name that is in no size case; `is_item` if the path leads to a list of names."""
    for index, name in enumerate(names):
        if isinstance(name, str) and name not in sizes:
            near = nearest(name, sizes)
            remedy = f"write {near}" if near else f"write a name from the size cases, or add {name} to each of them"
            known = f"a name in the size cases: {listed(sorted(sizes), 'or')}"
            yield Problem(path=(*path, index) if is_item else path, expected=known, found=quoted(name), remedy=remedy)


def unknown_name(expected: str, name: str, known: Iterable[str], path: KeyPath) -> Iterator[Problem]:
    """Yield a problem if the name is not among the known ones; `expected` says what it should name."""
    names = list(known)
    if name not in names:
        near = nearest(name, names) or (names[0] if len(names) == 1 else "")
        key = f"{path[-1]}: " if isinstance(path[-1], str) else ""
        remedy = f"write {key}{near}" if near else f"write one of these names, or declare {name}"
        yield Problem(path=path, expected=f"{expected}: {listed(names, 'or')}", found=quoted(name), remedy=remedy)


def tensor_problems(inputs: Inputs, path: KeyPath) -> Iterator[Problem]:
    """Yield a problem for each tensor among inputs that must be plain values."""
    for name, value in inputs.items():
        if isinstance(value, list | MadeInput):
            yield Problem(
                path=(*path, name), expected="a plain value", found="a tensor", remedy="write a number or a truth value"
            )


def output_problems(interface: Interface, check: Property, output: int, path: KeyPath) -> Iterator[Problem]:
    """Yield a problem if the interface does not declare the output with this index."""
    outputs = interface.outputs
    if outputs and not check.method and output >= len(outputs):
        expected = f"an output from 0 to {len(outputs) - 1}" if len(outputs) > 1 else "0, the only output"
        yield Problem(
            path=(*path, "output"), expected=expected, found=str(output), remedy=f"write output: {len(outputs) - 1}"
        )


def _input_and_axis_problems(name: str, axis: int, inputs: dict[str, Any], path: KeyPath) -> Iterator[Problem]:
    shapes = {each: spec.shape if isinstance(spec, MadeInput) else spec for each, spec in inputs.items()}
    tensors = {each: shape for each, shape in shapes.items() if isinstance(shape, list)}
    yield from unknown_name("an input", name, tensors, (*path, "input"))
    if name in tensors and not -len(tensors[name]) <= axis < len(tensors[name]):
        rank = len(tensors[name])
        yield Problem(
            path=(*path, "axis"),
            expected=f"an axis of {name}, from 0 to {rank - 1}",
            found=str(axis),
            remedy=f"write axis: {rank - 1}",
        )


def _mask_of_kind_problems(name: str, kind: MaskKind, inputs: dict[str, Any], path: KeyPath) -> Iterator[Problem]:
    masks = {each: spec for each, spec in inputs.items() if isinstance(spec, MadeInput) and spec.is_mask()}
    if not masks:
        remedy = f"write inputs: {{{name}: {{mask: {kind}, shape: [tokens, tokens]}}}}"
        yield Problem(path=(*path, "mask"), expected="a mask among the check's inputs", found="none", remedy=remedy)
        return
    yield from unknown_name("a mask", name, masks, (*path, "mask"))
    if name in masks and masks[name].mask is not kind:
        at = (*path, "inputs", name, "mask")
        yield Problem(
            path=at,
            expected=f"{kind}, the kind of mask that this property needs",
            found=str(masks[name].mask),
            remedy=f"write mask: {kind}",
        )


def _exception_problems(errors: tuple[str, ...], path: KeyPath) -> Iterator[Problem]:
    """Yield a problem for each misspelt exception. A submission may define exceptions with other names."""
    if not errors:
        yield Problem(
            path=(*path, "errors"), expected="at least one exception", found="none", remedy="write errors: [ValueError]"
        )
    for index, name in enumerate(errors):
        near = nearest(name, EXCEPTIONS)
        if near and name not in EXCEPTIONS:
            yield Problem(
                path=(*path, "errors", index), expected="an exception", found=quoted(name), remedy=f"write {near}"
            )


def _probability_problems(check: Property, name: str, interface: Interface, path: KeyPath) -> Iterator[Problem]:
    """Yield a problem if no argument of the constructor has this name."""
    constructor = {**interface.constructor, **check.constructor}
    yield from unknown_name(AN_ARGUMENT, name, constructor, (*path, "probability"))
