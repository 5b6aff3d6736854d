"""The questions of a guided hunt. They come from the properties that an exercise checks, and name no defect.

What should happen follows from the exercise's interface; what happens comes from the verdict on the student's file.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum

from msgspec import Struct, structs

from grader.checks.outcome import FailureKind, Finding, Outcome, Picture, Status
from grader.report.causes import SHOWN_LAST
from grader.report.findings import sentence
from grader.sandbox.text import as_arguments
from grader.spec.exercise import Defect, Exercise
from grader.spec.fields import MadeInput, MaskKind, shape_of, sizes_of
from grader.spec.problem import listed
from grader.spec.properties import (
    DropoutActsOnWeights,
    DropoutOnlyInTraining,
    FutureDoesNotLeak,
    KeepsDtype,
    LeavesInputsAlone,
    MaskHides,
    MatchesReference,
    MovesBetweenDevices,
    Property,
    ReturnsShapes,
    RowsSumToOne,
    SamplesDoNotMix,
)
from grader.verdict.verdict import Verdict

MAX_PREDICTIONS = 3
MAX_SENTENCES, LEAST_SENTENCES = 4, 3
MAX_TESTS = 3
MAX_SHARED_WORDS = 0.5
"""The largest share of words that a wrong sentence may have in common with the right one."""
LEAST_WORD = 4
"""The fewest letters of a word that counts as shared."""

FAILED_CALLS = {
    FailureKind.CRASH,
    FailureKind.DIED,
    FailureKind.TIMEOUT,
    FailureKind.PARAMETERS,
    FailureKind.FORM,
    FailureKind.TYPE,
    FailureKind.SHAPE,
    FailureKind.DTYPE,
    FailureKind.NONFINITE,
    FailureKind.VALUES,
    FailureKind.GRADIENT,
    FailureKind.NO_GRADIENT,
}
"""The kinds of failure of a call that fails, or whose values or gradients differ from those of right code."""


class Card(IntEnum):
    """The cards, by the numbers that students type."""

    PREDICT = 1
    LOCATE = 2
    FIX = 3
    EXPLAIN = 4


class Question(Struct, frozen=True, kw_only=True):
    """A question with numbered options, of which one is right."""

    text: str
    options: list[str]
    right: int


class Prediction(Struct, frozen=True, kw_only=True):
    """A question about an experiment, and what the student's file does in it.

    `asks_what_happens` is true if the right option is what the file does, and false if it is what it should do.
    """

    question: Question
    happens: str
    picture: Picture | None = None
    asks_what_happens: bool = False


def predictions(exercise: Exercise, verdict: Verdict) -> list[Prediction]:
    """Return a question on the sizes at which values go wrong, then questions on other properties, failed ones first.

    A question is asked only if the outcome of its check answers it. A crash, say, tells nothing about dtypes. A
    property whose checks do not run in this edition gives no question either.
    """
    outcomes = {each.check: each for each in verdict.checks if each.status is not Status.NOT_RUN}
    checks = [check for check in exercise.checks if check.id in outcomes]
    first = (_where_values_go_wrong(exercise, check, outcomes[check.id].finding) for check in _value_checks(checks))
    chosen: dict[type[Property], Prediction] = {}
    for check in sorted(checks, key=lambda each: (_urgency(outcomes[each.id]), _rank(each))):
        if type(check) not in chosen:
            prediction = _what_should_happen(exercise, check, outcomes[check.id].finding)
            chosen |= {type(check): prediction} if prediction is not None else {}
    return [*[each for each in first if each is not None][:1], *chosen.values()][:MAX_PREDICTIONS]


def _value_checks(checks: Sequence[Property]) -> list[MatchesReference]:
    """Return the checks of values: at the exercise's own sizes first, and among them plain ones first.

    A check with a variation builds another class than the file's own. A check without calling variants has large sizes.
    """
    return sorted(
        (each for each in checks if isinstance(each, MatchesReference) and each.uses_calling_variants()),
        key=lambda each: (bool(each.sizes), not each.is_plain() or each.training),
    )


def _urgency(outcome: Outcome) -> int:
    """Return the sort key: failed properties, those that can wait until values are right, passed ones."""
    return 2 if outcome.finding is None else int(outcome.finding.kind in SHOWN_LAST)


def _rank(check: Property) -> int:
    """Return the position of a property among those that have a question."""
    return [*TOPICS].index(type(check)) if type(check) in TOPICS else len(TOPICS)


def _where_values_go_wrong(exercise: Exercise, check: MatchesReference, finding: Finding | None) -> Prediction | None:
    """Return the question at which sizes a check first fails; None if its outcome does not answer it.

    Larger sizes do not run after a failure, so a failure in a calling variant leaves open what plain calls do there.
    """
    cases = exercise.fixed_sizes_of(check)
    found = finding if finding is not None and finding.size_case in cases else None
    if finding is not None and not finding.size_case:
        return None
    if found is not None and (found.calling_variant is not None or found.kind not in FAILED_CALLS):
        return None
    varying = [name for name in cases[0] if len({case[name] for case in cases}) > 1]
    return Prediction(
        question=Question(
            text=_settings(exercise, check)
            + "Your file runs at these sizes, one after the other, with random numbers. "
            "At which sizes does it first fail, or compute values or gradients that differ from those of right code?",
            options=[
                *(f"at {as_arguments({name: case[name] for name in varying})}" for case in cases),
                "at none of them",
            ],
            right=cases.index(found.size_case) if found is not None else len(cases),
        ),
        happens=sentence(found)
        if found is not None
        else "it gives the right values and gradients at all of these sizes",
        picture=found.picture if found is not None else None,
        asks_what_happens=True,
    )


def _what_should_happen(exercise: Exercise, check: Property, finding: Finding | None) -> Prediction | None:
    """Return the question about what a property requires; None if it has no question or its outcome gives no answer."""
    topic = TOPICS.get(type(check))
    if topic is None or (finding is not None and finding.kind not in topic.kinds):
        return None
    question = topic.ask(exercise, check, finding)
    if question is None:
        return None
    return Prediction(
        question=structs.replace(question, text=_settings(exercise, check) + question.text),
        happens=sentence(finding) if finding is not None else "as it should be, in every call that was tried",
        picture=finding.picture if finding is not None else None,
    )


def _settings(exercise: Exercise, check: Property) -> str:
    """Return a sentence about how a check builds and calls a subject; empty if there is nothing to choose.

    It names the arguments that are no sizes, the mode if the answer may depend on it, the method and the mask.
    """
    interface = exercise.interface
    is_module = not interface.kind.adapter_for(interface.function)
    own = check.probability if isinstance(check, DropoutOnlyInTraining | DropoutActsOnWeights) else ""
    usual = interface.constructor if is_module else {}
    values = {
        name: value
        for name, value in {**usual, **check.constructor}.items()
        if not isinstance(value, str) and name not in (own, *check.defaults)
    }
    parts = [f"built with {as_arguments(values)}"] if values else []
    if check.training:
        parts.append("in training mode")
    elif is_module and isinstance(check, IN_A_MODE):
        parts.append("in evaluation mode")
    parts += [f"called by its method {check.method}"] if check.method else []
    masks = [] if isinstance(check, MaskHides) else [*_masks(check)]
    parts += [f"called with {' and '.join(masks)}"] if masks else []
    return f"{interface.entry()} is {listed(parts)}. " if parts else ""


IN_A_MODE = (MatchesReference, FutureDoesNotLeak, MaskHides, RowsSumToOne, SamplesDoNotMix)
"""Properties whose questions may have other answers in training mode."""

MASKS = {
    MaskKind.CAUSAL: "a causal mask",
    MaskKind.RANDOM: "a random mask",
    MaskKind.PADDING: "a mask of padding",
    MaskKind.DEAD_ROW: "a mask that hides every key from one query",
}


def _masks(check: Property) -> Iterator[str]:
    """Yield the masks that a check adds to the inputs, in words."""
    for name, spec in check.inputs.items():
        if isinstance(spec, MadeInput) and spec.mask is not None:
            yield f"{MASKS[spec.mask]}, {name}" if name != "mask" else MASKS[spec.mask]


ORDINALS = ("first", "second", "third", "fourth")


def _output(exercise: Exercise, check: FutureDoesNotLeak | SamplesDoNotMix | MaskHides) -> str:
    """Return the name of the output that a check looks at."""
    if len(exercise.interface.outputs) == 1:
        return "the output"
    return f"the {ORDINALS[check.output]} output" if check.output < len(ORDINALS) else f"output {check.output}"


def _future(exercise: Exercise, check: Property, _finding: Finding | None) -> Question:
    assert isinstance(check, FutureDoesNotLeak)
    return Question(
        text=(
            f"The numbers of one token of {check.input} are replaced. "
            f"At which tokens may {_output(exercise, check)} change?"
        ),
        options=[
            "at this token alone",
            "at this token and earlier ones, never at later ones",
            "at this token and later ones, never at earlier ones",
            "at earlier ones and later ones",
        ],
        right=2,
    )


def _samples(exercise: Exercise, check: Property, _finding: Finding | None) -> Question:
    assert isinstance(check, SamplesDoNotMix)
    return Question(
        text=f"One sample of {check.input} gets other numbers. At which samples may {_output(exercise, check)} change?",
        options=["at this sample alone", "at this sample and those after it", "at all of them"],
        right=0,
    )


def _mask(exercise: Exercise, check: Property, _finding: Finding | None) -> Question:
    assert isinstance(check, MaskHides)
    return Question(
        text=f"The masks of all samples hide the same token of {check.input}, and this token gets other numbers. "
        f"At which other tokens may {_output(exercise, check)} change?",
        options=["at its neighbours", "at none", "at those after it", "at all of them"],
        right=1,
    )


def _row_sums(_exercise: Exercise, check: Property, _finding: Finding | None) -> Question:
    assert isinstance(check, RowsSumToOne)
    weights = f"weights in the attribute {check.attribute}" if check.attribute else "returned attention weights"
    return Question(
        text=f"For one query, the {weights} are summed over the keys. What should the sum be?",
        options=["always 1", "1 on average", "the number of keys", "any number"],
        right=0,
    )


def _dropout_mode(_exercise: Exercise, check: Property, _finding: Finding | None) -> Question:
    assert isinstance(check, DropoutOnlyInTraining)
    return Question(
        text=f"{check.probability}=0.5. In each mode, training and eval, two calls get the same input. "
        "In which mode should the two outputs be equal?",
        options=["in training mode", "in eval mode", "in both", "in neither"],
        right=1,
    )


def _dropout_weights(_exercise: Exercise, check: Property, _finding: Finding | None) -> Question:
    assert isinstance(check, DropoutActsOnWeights)
    return Question(
        text=f"In training mode, dropout has the probability p. What should each {check.called} become?",
        options=["0 or the same number", "1 - p times as much", "0 or 1 / (1 - p) times as much", "0 or 1"],
        right=2,
    )


def _dtype(_exercise: Exercise, check: Property, _finding: Finding | None) -> Question:
    assert isinstance(check, KeepsDtype)
    return Question(
        text=f"Inputs and parameters are {check.dtype}. Which dtype should the output have?",
        options=["float32", check.dtype, "torch's default dtype"],
        right=1,
    )


def _shapes(exercise: Exercise, check: Property, finding: Finding | None) -> Question | None:
    """Ask for the shape of the first output, at the sizes of the finding; None if that is about another output."""
    interface, sizes = exercise.interface, exercise.fixed_sizes_of(check)[-1]
    inputs = {name: shape_of(spec) for name, spec in check.all_inputs(interface).items() if shape_of(spec)}
    if check.method or not interface.outputs or not interface.kind.returns_outputs:
        return None
    if finding is not None:
        if finding.item not in ("output", "output 0"):
            return None
        sizes = {**sizes, **finding.size_case}
    right = sizes_of(interface.outputs[0], sizes)
    given = [sizes_of(shape, sizes) for shape in inputs.values()]
    others = [[*right[:-2], *right[-2:][::-1]], right[:-1], [*right[1:2], *right[:1], *right[2:]], given[0][:1], *given]
    options = [right, *(each for number, each in enumerate(others) if each != right and each not in others[:number])]
    ordered = sorted(options[:4])
    described = ", ".join(f"{name} {shape}" for name, shape in zip(inputs, given, strict=True))
    first = "the first output" if len(interface.outputs) > 1 else "the output"
    return Question(
        text=f"The input shapes are {described}. Which shape should {first} have?",
        options=[str(each) if each else "no axes: a single number" for each in ordered],
        right=ordered.index(right),
    )


def _inputs(_exercise: Exercise, _check: Property, _finding: Finding | None) -> Question:
    return Question(
        text="After a call, what should the input tensors contain?",
        options=["what they contained before", "what the last layer returned", "anything"],
        right=0,
    )


def _devices(_exercise: Exercise, _check: Property, _finding: Finding | None) -> Question:
    return Question(
        text="The module moves to another device with .to(device), and so do its inputs. What should a call do?",
        options=["return its output on the CPU", "raise an error", "return its output on that device"],
        right=2,
    )


class Topic(Struct, frozen=True, kw_only=True):
    """A property's question, and the kinds of failure that answer it: failures in the calls it asks about."""

    ask: Callable[[Exercise, Property, Finding | None], Question | None]
    kinds: set[FailureKind]


TOPICS: dict[type[Property], Topic] = {
    FutureDoesNotLeak: Topic(ask=_future, kinds={FailureKind.LEAK}),
    MaskHides: Topic(ask=_mask, kinds={FailureKind.LEAK}),
    SamplesDoNotMix: Topic(ask=_samples, kinds={FailureKind.MIXING}),
    RowsSumToOne: Topic(ask=_row_sums, kinds={FailureKind.SUM, FailureKind.SUM_NEARLY}),
    DropoutActsOnWeights: Topic(ask=_dropout_weights, kinds={FailureKind.DROPOUT_ELSEWHERE}),
    DropoutOnlyInTraining: Topic(ask=_dropout_mode, kinds={FailureKind.DROPOUT, FailureKind.NO_DROPOUT}),
    ReturnsShapes: Topic(ask=_shapes, kinds={FailureKind.SHAPE}),
    KeepsDtype: Topic(ask=_dtype, kinds={FailureKind.DTYPE}),
    LeavesInputsAlone: Topic(ask=_inputs, kinds={FailureKind.INPUT_CHANGED}),
    MovesBetweenDevices: Topic(ask=_devices, kinds={FailureKind.DEVICE}),
}
"""The questions about what properties require, the most informative ones first."""


def which_reason(exercise: Exercise, defect: Defect, others: Sequence[Defect]) -> Question | None:
    """Return the question why a fixed defect mattered; None without two wrong sentences.

    Wrong sentences belong to other defects, the exercise's own first. A sentence that shares many words with the right
    sentence may be true of this defect too, so it is left out.
    """
    own = first_sentence(defect.why)
    wrong = [
        first_sentence(each.why)
        for each in [*exercise.defects, *others]
        if each.why and each.id != defect.id and not _are_similar(defect, each)
    ]
    options = [own, *dict.fromkeys(each for each in wrong if each != own)][:MAX_SENTENCES]
    return (
        _shuffled(f'You fixed this: "{defect.title}". Why did it matter?', options)
        if len(options) >= LEAST_SENTENCES
        else None
    )


def which_test(defect: Defect, catching: str) -> Question | None:
    """Return the question which test catches a fixed defect; None if no usual test is known to miss it."""
    missing = list(dict.fromkeys(" ".join(each.says.split()) for each in defect.missed_by))[: MAX_TESTS - 1]
    options = [f'the grader\'s check "{catching}"', *(f"a usual test of {each}" for each in missing)]
    return _shuffled(f'Which of these tests catches "{defect.title}"?', options) if missing else None


def _shuffled(text: str, options: list[str]) -> Question:
    """Return a question with its options in an arbitrary order; the first of the given options is right."""
    ordered = sorted(options, key=lambda each: hashlib.sha256(each.encode()).digest())
    return Question(text=text, options=ordered, right=ordered.index(options[0]))


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line."""
    return re.split(r"(?<=[.!?]) (?=[A-Z])", " ".join(text.split()), maxsplit=1)[0]


def _are_similar(one: Defect, other: Defect) -> bool:
    """Return whether the first sentences of two defects have many words in common."""
    words, others = (
        {word for word in re.findall(r"[a-z]+", first_sentence(each.why).lower()) if len(word) >= LEAST_WORD}
        for each in (one, other)
    )
    return len(words & others) > MAX_SHARED_WORDS * min(len(words), len(others))
