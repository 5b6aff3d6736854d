"""What pages say about each property: its name, the meaning of a check that passes, and what it asks of a fix."""

from msgspec import Struct

from grader.spec.problem import blank
from grader.spec.properties import (
    AttributeEquals,
    AttributeMatchesReference,
    CallsInTurn,
    DropoutActsOnWeights,
    DropoutOnlyInTraining,
    EveryParameterLearns,
    FutureDoesNotLeak,
    HasLayer,
    KeepsDtype,
    KeepsStateDict,
    MaskedRowsStayFinite,
    MaskHides,
    MatchesReference,
    MovesBetweenDevices,
    PaddingChangesNothing,
    Property,
    Raises,
    RowsSumToOne,
    SamplesDoNotMix,
    SamplesInAnyOrder,
)


class PropertyWords(Struct, frozen=True, kw_only=True):
    """The words for a property. Each is optional."""

    name: str = ""
    """The name of its checks on pages, if the property's own name reveals too much or is unclear."""
    passes: str = ""
    """What a passing check observed in a submission with wrong values (`report/right_behaviour.py`)."""
    promise: str = ""
    """What it requires of every fix, as the README of a new exercise says, where its arguments do not matter."""


WORDS: dict[type[Property], PropertyWords] = {
    FutureDoesNotLeak: PropertyWords(passes="Changing later {axis} changed no earlier output."),
    MaskHides: PropertyWords(passes="Changing a token that every sample's mask hides changed no other output."),
    RowsSumToOne: PropertyWords(passes="The attention weights of each query added up to 1."),
    SamplesDoNotMix: PropertyWords(
        passes="Changing one sample changed no other sample's {output}.", promise="Samples do not affect each other."
    ),
    SamplesInAnyOrder: PropertyWords(passes="Samples in another order, or in two parts, gave the same outputs."),
    PaddingChangesNothing: PropertyWords(passes="Cutting off the padding changed no output."),
    MaskedRowsStayFinite: PropertyWords(passes="A query that may look at no key gave finite outputs."),
    DropoutOnlyInTraining: PropertyWords(
        passes="Nothing was dropped in evaluation.", promise="Dropout acts in training mode only."
    ),
    DropoutActsOnWeights: PropertyWords(passes="Each {called} was dropped or kept independently."),
    EveryParameterLearns: PropertyWords(passes="Every parameter that should learn got a gradient."),
    MatchesReference: PropertyWords(name="values"),
    AttributeMatchesReference: PropertyWords(name="attributes"),
    AttributeEquals: PropertyWords(name="attributes"),
    HasLayer: PropertyWords(name="attributes"),
    Raises: PropertyWords(name="errors"),
    CallsInTurn: PropertyWords(
        promise=f"One module may be called several times: {blank('what it remembers of the calls before')}."
    ),
    KeepsDtype: PropertyWords(promise="A module in float64 computes in float64."),
    KeepsStateDict: PropertyWords(promise="You may add buffers, persistent or not."),
    MovesBetweenDevices: PropertyWords(promise="The module works on any device after `.to(device)`."),
}
"""The words for each property that has any, the most telling passing check first."""


def words_for(check: Property) -> PropertyWords:
    """Return the words for a check's property."""
    return WORDS.get(type(check), PropertyWords())
