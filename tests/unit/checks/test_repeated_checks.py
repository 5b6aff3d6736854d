"""A check runs a second time if the reference's answers were dropped, and only the second run counts."""

from collections.abc import Callable, Iterator

import pytest

from grader.checks.context import Context
from grader.checks.failure import Failure
from grader.checks.outcome import FailurePoint, Status
from grader.checks.runner import Runner
from grader.checks.session import Observed
from grader.errors import BrokenExerciseError, KitError
from grader.spec.loading import load_exercise
from grader.submission import submission_from_text
from tests.support.hostile import reference
from tests.support.judging import SEED, Judge

ARGUMENTS = {"input_dim": 5, "output_dim": 12, "context_length": 8, "dropout": 0.0}


class ScriptedCheck:
    """A check whose runs do one step after another."""

    name, place, compares_values, is_slow = "scripted", "scripted.py", True, False

    def __init__(self, *steps: Callable[[Context], None]) -> None:
        self._steps = [*steps]

    def run(self, context: Context, _seed: int, _point: FailurePoint | None = None) -> None:
        self._steps.pop(0)(context)

    def is_done(self) -> bool:
        return not self._steps


def passes(context: Context) -> None:
    context.reference.build(ARGUMENTS)


def drops_answers(context: Context) -> None:
    """Ask another question than `passes`, which raises an error of the kit."""
    context.subject.session.observed = Observed(changed="the default dtype", answers_in_calling_variants=False)
    context.subject.build(ARGUMENTS)
    context.reference.build({**ARGUMENTS, "input_dim": 6})


def requires_no_observations(context: Context) -> None:
    assert context.subject.session.observed == Observed()


def requires_an_empty_tape(context: Context) -> None:
    tape = context.subject.session.tape
    assert tape is not None
    assert tape.steps == []
    raise Failure("values", "it differs")


def raises_a_kit_error(_context: Context) -> None:
    raise KitError("the disk is full")


def is_wrong_itself(_context: Context) -> None:
    raise NameError("no such name")


@pytest.fixture
def runner(judge_text: Judge) -> Iterator[Runner]:
    exercise = load_exercise(judge_text.course.description("exercise_03"))
    with Runner(judge_text.course, exercise, judge_text.source) as runner:
        yield runner


def examine(runner: Runner, check: ScriptedCheck) -> Status:
    runner._checks = [check]
    (outcome,) = runner.examine(submission_from_text(reference()), SEED).outcomes
    return outcome.status


def test_a_repeated_check_starts_with_the_observations_of_its_first_run(runner: Runner) -> None:
    assert examine(runner, ScriptedCheck(passes)) is Status.PASSED
    check = ScriptedCheck(drops_answers, requires_no_observations)
    assert examine(runner, check) is Status.PASSED
    assert check.is_done()


def test_a_check_is_repeated_once(runner: Runner) -> None:
    assert examine(runner, ScriptedCheck(passes)) is Status.PASSED
    with pytest.raises(KitError, match="the disk is full"):
        examine(runner, ScriptedCheck(drops_answers, raises_a_kit_error))


def test_an_error_of_the_kit_is_raised_without_a_repetition(runner: Runner) -> None:
    check = ScriptedCheck(raises_a_kit_error, passes)
    with pytest.raises(KitError, match="the disk is full"):
        examine(runner, check)
    assert not check.is_done()


def test_an_error_of_the_check_itself_names_the_exercise(runner: Runner) -> None:
    with pytest.raises(BrokenExerciseError, match="exercise_03: scripted fails by itself"):
        examine(runner, ScriptedCheck(is_wrong_itself))


def test_the_requests_of_a_repeated_check_are_recorded_on_a_new_tape(runner: Runner) -> None:
    assert examine(runner, ScriptedCheck(passes)) is Status.PASSED
    check = ScriptedCheck(drops_answers, requires_an_empty_tape)
    runner._checks = [check]
    failed = runner.record(submission_from_text(reference()), SEED, "scripted")
    assert check.is_done()
    assert failed is not None
    assert isinstance(failed.error, Failure)
    assert failed.steps == []
