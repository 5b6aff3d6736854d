"""The checks a description may ask for without Python: one record for each built-in property."""

from enum import StrEnum

from msgspec import Struct


class MaskKind(StrEnum):
    """What a made mask hides."""

    CAUSAL = "causal"
    RANDOM = "random"
    PADDING = "padding"
    DEAD_ROW = "dead_row"


Shape = list[str | int]
Literal = bool | int | float | str | None


class MaskInput(Struct, frozen=True, forbid_unknown_fields=True):
    """A mask to be made: true where a query may look at a key.

    `axes` are those of the queries and the keys; `integers` makes it of ones and zeros rather than of truth values.
    """

    mask: MaskKind
    shape: Shape
    axes: tuple[int, int] = (-2, -1)
    integers: bool = False


class Check(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="property"):
    """What every property takes.

    Fields: `id` names the check in verdicts; `constructor` and `inputs` add to or replace the interface's; `ladder`
    replaces the exercise's; `method` is called in place of the module; `training` leaves the module in training mode;
    `public` lets a student edition run it, where it needs no reference.
    """

    id: str = ""
    constructor: dict[str, Literal] = {}
    inputs: dict[str, Shape | MaskInput | Literal] = {}
    ladder: list[dict[str, int]] = []
    method: str = ""
    training: bool = False
    public: bool = False


class MatchesReference(Check, frozen=True, tag="matches_reference"):
    """Outputs (and gradients) equal the reference's, given the same weights and inputs."""

    gradients: bool = True


class ReturnsShapes(Check, frozen=True, tag="returns_shapes"):
    """Outputs have the shapes the interface declares, at every size."""


class EveryParameterLearns(Check, frozen=True, tag="every_parameter_learns"):
    """Each parameter gets a gradient wherever the reference's does."""

    parameters: tuple[str, ...] = ()


class FutureDoesNotLeak(Check, frozen=True, tag="future_does_not_leak"):
    """Changing a later token leaves the outputs of earlier ones alone."""

    input: str = "x"
    axis: int = 1
    output: int = 0


class MaskHides(Check, frozen=True, tag="mask_hides"):
    """Changing a token that the mask hides from everybody leaves the other tokens' outputs alone."""

    input: str = "x"
    mask: str = "mask"
    axis: int = 1
    output: int = 0


class MaskedRowsStayFinite(Check, frozen=True, tag="masked_rows_stay_finite"):
    """A query that may look at no key gets zero weights, and no NaN spreads from it."""

    mask: str = "mask"
    axis: int = 1


class RowsSumToOne(Check, frozen=True, tag="rows_sum_to_one"):
    """The attention weights, returned or kept in an attribute, sum to one along `axis`."""

    output: int = 1
    attribute: str = ""
    axis: int = -1


class SamplesDoNotMix(Check, frozen=True, tag="samples_do_not_mix"):
    """Changing one sample leaves the outputs of the others alone."""

    input: str = "x"
    axis: int = 0
    output: int = 0


class DropoutOnlyInTraining(Check, frozen=True, tag="dropout_only_in_training"):
    """Dropout draws anew in training, and never in eval mode."""

    probability: str = "dropout"


class DropoutActsOnWeights(Check, frozen=True, tag="dropout_acts_on_weights"):
    """With one sample, one head and one key, a draw of dropout takes the whole value or none of it."""

    probability: str = "dropout"


class Raises(Check, frozen=True, tag="raises"):
    """What cannot work is refused, with a message that names the numbers."""

    at: str = "call"
    errors: tuple[str, ...] = ("ValueError",)
    mentions: tuple[str | int, ...] = ()


class KeepsDtype(Check, frozen=True, tag="keeps_dtype"):
    """A module in float64 computes in float64."""


class LeavesInputsAlone(Check, frozen=True, tag="leaves_inputs_alone"):
    """The tensors handed in are the same after the call."""


class PrintsNothing(Check, frozen=True, tag="prints_nothing"):
    """A call writes nothing to stdout."""


class Prints(Check, frozen=True, tag="prints"):
    """A call writes something to stdout."""


class AttributeEquals(Check, frozen=True, tag="attribute_equals"):
    """An attribute that the interface names has its value."""

    name: str
    equals: Literal


class AttributeMatchesReference(Check, frozen=True, tag="attribute_matches_reference"):
    """After a call, a tensor kept in an attribute equals the reference's."""

    name: str


class WeightsTransfer(Check, frozen=True, tag="weights_transfer"):
    """The state dict of one module loads into one of other sizes, which then computes what the reference does."""

    to: dict[str, int]


Property = (
    MatchesReference
    | ReturnsShapes
    | EveryParameterLearns
    | FutureDoesNotLeak
    | MaskHides
    | MaskedRowsStayFinite
    | RowsSumToOne
    | SamplesDoNotMix
    | DropoutOnlyInTraining
    | DropoutActsOnWeights
    | Raises
    | KeepsDtype
    | LeavesInputsAlone
    | PrintsNothing
    | Prints
    | AttributeEquals
    | AttributeMatchesReference
    | WeightsTransfer
)
