"""The checks a description may ask for without Python: one record for each built-in property."""

import typing
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct, field

TEXT = r"\S"
NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
LINK = r"^https?://\S+$"

PATTERNS = {
    TEXT: "text",
    NAME: "a name of letters, digits and underscores",
    ID: "a name of letters, digits, - and _",
    LINK: "a link that begins with https://",
}
"""What each pattern asks for, in words."""

LONGEST = 86_400
"""A day, in seconds."""

Text = Annotated[str, Meta(pattern=TEXT)]
Name = Annotated[str, Meta(pattern=NAME)]
Id = Annotated[str, Meta(pattern=ID)]
Fragments = Annotated[str, Meta(min_length=1)] | list[Text]
"""One fragment or several. msgspec 0.22 corrupts memory where a string with a pattern and a list are alternatives."""

Link = Annotated[str, Meta(pattern=LINK)]
Size = Annotated[int, Meta(ge=1)]
Index = Annotated[int, Meta(ge=0)]
Points = Annotated[float, Meta(gt=0, le=1000)]
Duration = Annotated[float, Meta(gt=0, le=LONGEST)]

Literal = bool | int | float | str | None
Shape = Annotated[list[Name | Size], Meta(max_length=8)]
Arguments = Annotated[dict[Name, Literal], Meta(max_length=32)]
Sizes = Annotated[dict[Name, Size], Meta(max_length=16)]
Ladder = Annotated[list[Sizes], Meta(max_length=32)]


class MaskKind(StrEnum):
    """What a made mask hides."""

    CAUSAL = "causal"
    RANDOM = "random"
    PADDING = "padding"
    DEAD_ROW = "dead_row"


class MaskInput(Struct, frozen=True, forbid_unknown_fields=True):
    """A mask to be made: true where a query may look at a key."""

    mask: MaskKind
    """What it hides."""
    shape: Shape
    """Its shape."""
    axes: tuple[int, int] = (-2, -1)
    """The axes of the queries and of the keys."""
    integers: bool = False
    """Whether it is made of ones and zeros rather than of truth values."""


Inputs = Annotated[dict[Name, Shape | MaskInput | Literal], Meta(max_length=32)]


class Check(
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
    ladder: Ladder = []
    """Walked in place of the exercise's."""
    method: Name = ""
    """Called in place of the module."""
    training: bool = False
    """Whether the module is left in training mode."""
    defaults: tuple[Name, ...] = ()
    """The constructor's arguments that are left out, so that their defaults count."""
    for_: tuple[Id, ...] = field(default=(), name="for")
    """The only defects that it may see when they stand alone; any unless given."""
    public: bool = False
    """Whether a student edition may run it, where it needs no reference."""


class MatchesReference(Check, frozen=True, tag="matches_reference"):
    """Outputs (and gradients) equal the reference's, given the same weights and inputs."""

    gradients: bool = True
    """Whether gradients are compared too."""


class ReturnsShapes(Check, frozen=True, tag="returns_shapes"):
    """Outputs have the shapes the interface declares, at every size."""


class EveryParameterLearns(Check, frozen=True, tag="every_parameter_learns"):
    """Each parameter gets a gradient wherever the reference's does."""

    parameters: tuple[Text, ...] = ()
    """The names of those that are looked at; all of them unless given."""


class FutureDoesNotLeak(Check, frozen=True, tag="future_does_not_leak"):
    """Changing a later token leaves the outputs of earlier ones alone, and moves the last one's."""

    input: Name = "x"
    """The input that is changed."""
    axis: int = 1
    """The axis of the tokens."""
    output: Index = 0
    """Which output is looked at."""


class MaskHides(Check, frozen=True, tag="mask_hides"):
    """Changing a token that the mask hides from everybody leaves the other tokens' outputs alone."""

    input: Name = "x"
    """The input that is changed."""
    mask: Name = "mask"
    """The input that is the mask."""
    axis: int = 1
    """The axis of the tokens."""
    output: Index = 0
    """Which output is looked at."""


class MaskedRowsStayFinite(Check, frozen=True, tag="masked_rows_stay_finite"):
    """A query that may look at no key gets zero weights, and no NaN spreads from it."""

    mask: Name = "mask"
    """The input that is the mask."""
    axis: int = 1
    """The axis of the tokens."""


class RowsSumToOne(Check, frozen=True, tag="rows_sum_to_one"):
    """The attention weights, returned or kept in an attribute, sum to one along `axis`."""

    output: Index = 1
    """Which output holds the weights."""
    attribute: Name = ""
    """The attribute that keeps the weights, where no output holds them."""
    axis: int = -1
    """The axis of the keys."""


class SamplesDoNotMix(Check, frozen=True, tag="samples_do_not_mix"):
    """Changing one sample leaves the outputs of the others alone."""

    input: Name = "x"
    """The input that is changed."""
    axis: int = 0
    """The axis of the samples."""
    output: Index = 0
    """Which output is looked at."""


class DropoutOnlyInTraining(Check, frozen=True, tag="dropout_only_in_training"):
    """Dropout draws anew in training, and never in eval mode."""

    probability: Name = "dropout"
    """The constructor's argument that is the chance of being dropped."""


class DropoutActsOnWeights(Check, frozen=True, tag="dropout_acts_on_weights"):
    """With one sample, one head and one key, a draw of dropout takes the whole value or none of it."""

    probability: Name = "dropout"
    """The constructor's argument that is the chance of being dropped."""


class Raises(Check, frozen=True, tag="raises"):
    """What cannot work is refused, with a message that names the numbers."""

    at: typing.Literal["call", "constructor"] = "call"
    """When it is refused."""
    errors: tuple[Name, ...] = ("ValueError",)
    """The exceptions that will do, and those derived from them."""
    mentions: tuple[Name | int, ...] = ()
    """The sizes and numbers that the message has to say."""


class KeepsDtype(Check, frozen=True, tag="keeps_dtype"):
    """A module in float64 computes in float64."""


class KeepsParameters(Check, frozen=True, tag="keeps_parameters"):
    """The parameters have the reference's names and shapes, no fewer and no more."""


class MovesBetweenDevices(Check, frozen=True, tag="moves_between_devices"):
    """Moved to another device, the module works there: nothing that it computes with stays behind."""


class LeavesInputsAlone(Check, frozen=True, tag="leaves_inputs_alone"):
    """The tensors handed in are the same after the call."""


class PrintsNothing(Check, frozen=True, tag="prints_nothing"):
    """A call writes nothing to stdout."""

    building: bool = False
    """Whether building the module must be silent too."""


class Prints(Check, frozen=True, tag="prints"):
    """A call writes something to stdout."""


class AttributeEquals(Check, frozen=True, tag="attribute_equals"):
    """An attribute that the interface names has its value."""

    name: Name
    """The attribute."""
    equals: Literal
    """Its value; the name of a size stands for that size."""


class AttributeMatchesReference(Check, frozen=True, tag="attribute_matches_reference"):
    """After a call, a tensor kept in an attribute equals the reference's."""

    name: Name
    """The attribute."""


class WeightsTransfer(Check, frozen=True, tag="weights_transfer"):
    """The state dict of one module loads into one of other sizes, which then computes what the reference does."""

    to: Sizes
    """The sizes that are others in the module that receives the weights."""


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
    | KeepsParameters
    | MovesBetweenDevices
    | LeavesInputsAlone
    | PrintsNothing
    | Prints
    | AttributeEquals
    | AttributeMatchesReference
    | WeightsTransfer
)

WITHOUT_VALUES = (
    ReturnsShapes,
    EveryParameterLearns,
    FutureDoesNotLeak,
    MaskHides,
    MaskedRowsStayFinite,
    SamplesDoNotMix,
    RowsSumToOne,
    DropoutOnlyInTraining,
    DropoutActsOnWeights,
    KeepsParameters,
    LeavesInputsAlone,
    PrintsNothing,
    MovesBetweenDevices,
)
"""Properties that a module may have although it computes nothing right: alone they show no defect mended."""
