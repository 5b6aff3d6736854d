"""The questions of a guided hunt. They come from the properties that an exercise checks, and name no defect.

What should happen follows from the exercise's interface; what happens comes from the verdict on the student's file.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from enum import IntEnum

from msgspec import Struct

from grader.checks.outcome import FailureKind, Outcome, Picture, Status
from grader.report.findings import sentence
from grader.sandbox.text import as_arguments
from grader.spec.exercise import Defect, Exercise
from grader.spec.fields import shape_of, sizes_of
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
from grader.verdict.causes import GENERAL_KINDS, SHOWN_LAST, group_causes, hiding_crash
from grader.verdict.verdict import Verdict

MOST_PREDICTIONS = 3
MOST_SENTENCES, LEAST_SENTENCES = 4, 3
MOST_TESTS = 3
MOST_SHARED_WORDS = 0.5
"""The largest share of words that a wrong sentence may have in common with the right one."""
LEAST_WORD = 4
"""The fewest letters of a word that counts as shared."""


class Card(IntEnum):
    """The cards, by the numbers that students type."""

    PREDICT = 1
    LOCATE = 2
    MEND = 3
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

    A property whose checks do not run in this edition gives no question.
    """
    outcomes = {each.check: each for each in verdict.checks if each.status is not Status.NOT_RUN}
    chosen: dict[type[Property], Prediction] = {}
    checks = [check for check in exercise.checks if check.id in outcomes]
    for check in sorted(checks, key=lambda each: (_urgency(outcomes[each.id]), _rank(each))):
        question = _question(exercise, check)
        if question is not None and type(check) not in chosen:
            outcome = outcomes[check.id]
            picture = outcome.finding.picture if outcome.finding else None
            chosen[type(check)] = Prediction(
                question=question, happens=_what_happens(verdict, outcome), picture=picture
            )
    first = [
        _where_values_go_wrong(exercise, verdict, check, outcomes[check.id]) for check in _value_checks(checks)[:1]
    ]
    return [*first, *chosen.values()][:MOST_PREDICTIONS]


def _value_checks(checks: Sequence[Property]) -> list[MatchesReference]:
    """Return the checks of values: those at the exercise's own sizes first, and of these the plain ones."""
    return sorted(
        (each for each in checks if isinstance(each, MatchesReference)),
        key=lambda each: (bool(each.sizes), not each.is_plain() or each.training),
    )


def _urgency(outcome: Outcome) -> int:
    """Return the sort key: properties that fail for their own reason, passed ones, those that wrong values fail."""
    finding = outcome.finding
    if finding is None:
        return 2
    return 3 if finding.kind in GENERAL_KINDS else int(finding.kind in SHOWN_LAST)


def _rank(check: Property) -> int:
    """Return the position of a property among those that have a question."""
    return [*QUESTIONS].index(type(check)) if type(check) in QUESTIONS else len(QUESTIONS)


def _what_happens(verdict: Verdict, outcome: Outcome) -> str:
    """Return what the file does; a crash that hides the other findings stands for all of them."""
    crash = hiding_crash(group_causes(verdict))
    if outcome.finding is None:
        return "it does so, in every call that was tried"
    return sentence(crash.finding if crash is not None else outcome.finding)


def _where_values_go_wrong(
    exercise: Exercise, verdict: Verdict, check: MatchesReference, outcome: Outcome
) -> Prediction:
    cases = check.sizes or exercise.fixed_sizes
    varying = [name for name in cases[0] if len({case[name] for case in cases}) > 1]
    options = [f"at {as_arguments({name: case[name] for name in varying})}" for case in cases]
    finding = outcome.finding
    is_plain = finding is not None and finding.calling_variant is None
    is_crash = finding is not None and finding.kind in (FailureKind.CRASH, FailureKind.SHAPE)
    right = cases.index(finding.size_case) if finding and is_plain and finding.size_case in cases else len(cases)
    happens = _what_happens(verdict, outcome) if finding else "no value is wrong in a call of this check"
    return Prediction(
        question=Question(
            text="Your file runs at these sizes, one after the other, with random numbers. "
            "Where does it first fail, or return other values than right code?",
            options=[*options, "at none of them"],
            right=right,
        ),
        happens=happens,
        picture=None if finding is None or is_crash else finding.picture,
        asks_what_happens=True,
    )


def _question(exercise: Exercise, check: Property) -> Question | None:
    """Return the question on what a property asks for; None if it has none."""
    ask = QUESTIONS.get(type(check))
    return ask(exercise, check) if ask else None


def _settings(check: Property) -> str:
    """Return the arguments of the constructor that a check sets, as the beginning of a sentence."""
    values = {name: value for name, value in check.constructor.items() if not isinstance(value, str)}
    return f"With {as_arguments(values)}: " if values else ""


def _future(_exercise: Exercise, check: Property) -> Question:
    assert isinstance(check, FutureDoesNotLeak)
    return Question(
        text=f"{_settings(check)}{check.input} has tokens 0 to 5. Token 3 gets other numbers. "
        "At which tokens may the output change?",
        options=["at token 3 alone", "at tokens 0 to 3", "at tokens 3 to 5", "at all of them"],
        right=2,
    )


def _samples(_exercise: Exercise, check: Property) -> Question:
    assert isinstance(check, SamplesDoNotMix)
    return Question(
        text=f"{_settings(check)}{check.input} has samples 0 to 2. Sample 1 gets other numbers. "
        "At which samples may the output change?",
        options=["at sample 1 alone", "at samples 1 and 2", "at all of them"],
        right=0,
    )


def _mask(_exercise: Exercise, check: Property) -> Question:
    assert isinstance(check, MaskHides)
    return Question(
        text=f"The mask hides token 4 of {check.input} from every query, and token 4 gets other numbers. "
        "At which other tokens may the output change?",
        options=["at its neighbours", "at none", "at all later ones", "at all of them"],
        right=1,
    )


def _dropout_mode(_exercise: Exercise, check: Property) -> Question:
    assert isinstance(check, DropoutOnlyInTraining)
    return Question(
        text=f"{check.probability}=0.5. A call is made twice with the same input, in training mode and in eval mode. "
        "In which mode are its two outputs equal?",
        options=["in training mode", "in eval mode", "in both", "in neither"],
        right=1,
    )


def _dropout_weights(_exercise: Exercise, check: Property) -> Question:
    assert isinstance(check, DropoutActsOnWeights)
    return Question(
        text=f"{check.probability}=0.5, training mode. What does each {check.called} become?",
        options=["0 or the same number", "half of it", "0 or twice as much", "0 or 1"],
        right=2,
    )


def _dtype(_exercise: Exercise, check: Property) -> Question:
    assert isinstance(check, KeepsDtype)
    return Question(
        text=f"Inputs and parameters are {check.dtype}. Which dtype should the output have?",
        options=["float32", check.dtype, "torch's default dtype"],
        right=1,
    )


def _shapes(exercise: Exercise, check: Property) -> Question | None:
    interface, sizes = exercise.interface, (check.sizes or exercise.fixed_sizes)[-1]
    inputs = {name: shape_of(spec) for name, spec in check.all_inputs(interface).items() if shape_of(spec)}
    if check.method or not interface.outputs or not interface.kind.returns_outputs:
        return None
    right = sizes_of(interface.outputs[0], sizes)
    given = [sizes_of(shape, sizes) for shape in inputs.values()]
    others = [[*right[:-2], *right[-2:][::-1]], right[:-1], [*right[1:2], *right[:1], *right[2:]], given[0][:1], *given]
    options = [right, *(each for number, each in enumerate(others) if each != right and each not in others[:number])]
    ordered = sorted(options[:4])
    described = ", ".join(f"{name} {shape}" for name, shape in zip(inputs, given, strict=True))
    first = "the first output" if len(interface.outputs) > 1 else "the output"
    return Question(
        text=f"The input shapes are {described}. Which shape should {first} have?",
        options=[str(each) if each else "none: it is a single number" for each in ordered],
        right=ordered.index(right),
    )


def _always(text: str, options: list[str], right: int) -> Callable[[Exercise, Property], Question]:
    """Return a function that asks the same question whatever the exercise and the check."""
    return lambda _exercise, _check: Question(text=text, options=options, right=right)


QUESTIONS: dict[type[Property], Callable[[Exercise, Property], Question | None]] = {
    FutureDoesNotLeak: _future,
    MaskHides: _mask,
    SamplesDoNotMix: _samples,
    RowsSumToOne: _always(
        text="The attention weights of one query are summed over the keys, without dropout. What is the sum?",
        options=["always 1", "1 on average", "the number of keys", "any number"],
        right=0,
    ),
    DropoutActsOnWeights: _dropout_weights,
    DropoutOnlyInTraining: _dropout_mode,
    ReturnsShapes: _shapes,
    KeepsDtype: _dtype,
    LeavesInputsAlone: _always(
        text="After a call, what should the input tensors contain?",
        options=["what they contained before", "what the last layer returned", "anything"],
        right=0,
    ),
    MovesBetweenDevices: _always(
        text="The module moves to another device with .to(device), and so do its inputs. What should a call do?",
        options=["return its output on the CPU", "raise an error", "return its output on that device"],
        right=2,
    ),
}
"""The questions on what properties ask for, the most telling ones first."""


def which_reason(exercise: Exercise, defect: Defect, others: Sequence[Defect]) -> Question | None:
    """Return the question why a fixed defect mattered; None without two wrong sentences.

    Wrong sentences belong to other defects, the exercise's own first. One that shares many words with the right one may
    be true of this defect too, and is left out.
    """
    own = first_sentence(defect.why)
    wrong = [
        first_sentence(each.why)
        for each in [*exercise.defects, *others]
        if each.why and each.id != defect.id and not _are_similar(defect, each)
    ]
    options = [own, *dict.fromkeys(each for each in wrong if each != own)][:MOST_SENTENCES]
    return (
        _shuffled(f'You fixed this: "{defect.title}". Why did it matter?', options)
        if len(options) >= LEAST_SENTENCES
        else None
    )


def which_test(defect: Defect, catching: str) -> Question | None:
    """Return the question which test catches a fixed defect; None if no usual test is known to miss it."""
    missing = list(dict.fromkeys(" ".join(each.says.split()) for each in defect.missed_by))[: MOST_TESTS - 1]
    options = [f'the kit\'s check "{catching}"', *(f"a usual test of {each}" for each in missing)]
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
    return len(words & others) > MOST_SHARED_WORDS * min(len(words), len(others))
