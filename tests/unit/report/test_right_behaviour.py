"""Beside a finding that names a wrong number only, the page says which experiments came out right."""

import pytest
from msgspec import structs

from grader.checks.outcome import Diagnosis, DiagnosisKind, FailureKind, Finding, Outcome, Status
from grader.report.right_behaviour import right_behaviour
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.verdict import Result, Verdict
from tests.support.pages import terminal_page

WRONG = Finding(kind=FailureKind.VALUES, item="output", expected="1", observed="2")
LEAK = Finding(kind=FailureKind.LEAK, action="changing token 1", item="output", place="token 0", expected="no change")


@pytest.fixture
def exercise(course: Course) -> Exercise:
    return load_exercise(course.description("exercise_03"))


def verdict_with(exercise: Exercise, **findings: Finding) -> Verdict:
    """A verdict in which these checks fail and the others pass."""
    checks = [
        Outcome(check=each.id, status=Status.FAILED, finding=findings[each.id])
        if each.id in findings
        else Outcome(check=each.id, status=Status.PASSED)
        for each in exercise.checks
    ]
    return Verdict(
        exercise=exercise.id,
        file="attention.py",
        outcome=Result.NOT_FIXED,
        reason=None,
        score=0.0,
        max_score=10.0,
        seed=7,
        defects=[],
        regressions=[],
        checks=checks,
        isolation={},
        seconds=0.1,
    )


def test_experiments_that_came_out_right_are_listed_the_most_telling_first(exercise: Exercise) -> None:
    found = right_behaviour(verdict_with(exercise, values=WRONG), exercise)
    assert found == [
        "Changing later tokens changed no earlier output.",
        "Changing one sample changed no other sample's output.",
        "Nothing was dropped in evaluation.",
    ]
    assert found[0] in terminal_page(verdict_with(exercise, values=WRONG), exercise, width=200)


def test_an_experiment_that_failed_is_not_called_right(exercise: Exercise) -> None:
    found = right_behaviour(verdict_with(exercise, values=WRONG, samples_do_not_mix=LEAK), exercise)
    assert "Changing one sample changed no other sample's output." not in found


def test_a_finding_that_explains_itself_needs_no_experiments(exercise: Exercise) -> None:
    diagnosed = structs.replace(WRONG, diagnosis=Diagnosis(kind=DiagnosisKind.ALL_ZERO))
    for finding in (diagnosed, LEAK, structs.replace(WRONG, message="two words swapped: expected equal outputs")):
        assert right_behaviour(verdict_with(exercise, values=finding), exercise) == []


def test_an_experiment_without_the_mask_of_a_failed_check_says_so(course: Course) -> None:
    exercise = load_exercise(course.description("exercise_14"))
    found = right_behaviour(verdict_with(exercise, values_with_padding=WRONG), exercise)
    assert found[0] == "Without keep: changing later tokens changed no earlier output."
    assert found[1].startswith("Changing a token that every sample's mask hides")
