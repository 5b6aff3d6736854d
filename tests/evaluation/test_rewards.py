"""Rewards are monotone: more right is never less. Seeds of the two splits never meet. Hunts give nothing away."""

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.checks.outcome import Outcome, Status
from grader.errors import UsageError
from grader.evaluation.catalogue import exercises
from grader.evaluation.rewards import Scheme, reward
from grader.evaluation.seeds import COUNT, Split, seed_of
from grader.spec.exercise import Announcement
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result, Verdict
from tests.support.paths import ROOT

POINTS = (3.0, 1.0, 2.0)


def verdict_of(fixed: frozenset[int], passed: int, *, checks: int = 6, outcome: Result | None = None) -> Verdict:
    """A verdict with these of three defects fixed and so many checks passed."""
    is_fixed = len(fixed) == 3 and passed == checks
    result = outcome or (Result.FIXED if is_fixed else Result.NOT_FIXED)
    return Verdict(
        exercise="exercise_03",
        file="attention.py",
        outcome=result,
        reason=None,
        score=None if result is Result.NOT_JUDGED else sum(POINTS[each] for each in fixed) + 4.0 * is_fixed,
        max_score=10.0,
        seed=1,
        defects=[
            DefectVerdict(
                id=str(index),
                status=DefectStatus.FIXED if index in fixed else DefectStatus.PRESENT,
                points=points if index in fixed else 0.0,
                max_points=points,
                stretch=False,
            )
            for index, points in enumerate(POINTS)
        ],
        regressions=[],
        checks=[
            Outcome(check=str(index), status=Status.PASSED if index < passed else Status.FAILED)
            for index in range(checks)
        ],
        isolation={},
        seconds=0.0,
    )


SUBSETS = [frozenset(each) for size in range(4) for each in combinations(range(3), size)]


@pytest.mark.parametrize("scheme", list(Scheme))
def test_more_right_is_never_less(scheme):
    verdicts = {
        (fixed, passed): reward(verdict_of(fixed, passed), scheme) for fixed, passed in product(SUBSETS, range(7))
    }
    for (fixed, passed), value in verdicts.items():
        assert 0 <= value <= 1
        for (other, others_passed), larger in verdicts.items():
            if fixed < other or (fixed == other and passed <= others_passed):
                assert value <= larger, (fixed, passed, other, others_passed)


@given(st.integers(0, 7), st.integers(0, 6), st.sampled_from(Scheme))
def test_only_a_verdict_that_is_fixed_has_the_full_reward(index, passed, scheme):
    verdict = verdict_of(SUBSETS[index], passed)
    assert (reward(verdict, scheme) == 1) == (verdict.outcome is Result.FIXED)


@pytest.mark.parametrize("scheme", list(Scheme))
def test_a_submission_that_was_not_judged_has_no_reward_and_one_without_a_check_gets_nothing(scheme):
    assert reward(verdict_of(frozenset(), 0, outcome=Result.NOT_JUDGED), scheme) is None
    assert reward(verdict_of(frozenset(), 0, outcome=Result.NOT_GRADABLE), scheme) == 0


def test_the_schemes_give_the_documented_rewards():
    verdict = verdict_of(frozenset({0, 1}), 3)
    assert reward(verdict) == reward(verdict, "points") == 0.4
    assert reward(verdict, "all_or_nothing") == 0
    assert reward(verdict, "per_defect") == 2 / 4
    assert reward(verdict, "dense") == (2 + 0.5) / 4
    with pytest.raises(UsageError, match="scheme is 'best'; use one of points, all_or_nothing, per_defect, dense"):
        reward(verdict, "best")


def test_seeds_of_training_and_of_held_out_evaluation_never_meet():
    indexes = [*range(2000), COUNT - 1]
    training, held_out = ({seed_of(split, index) for index in indexes} for split in Split)
    assert len(training) == len(held_out) == len(indexes)
    assert not training & held_out
    assert all(0 <= seed < 2**31 for seed in training | held_out)
    for split, index in (("test", 0), ("training", -1), ("training", 1.5), ("training", COUNT)):
        with pytest.raises(UsageError, match=r"(split|index) is .*; use"):
            seed_of(split, index)


def test_the_page_for_evaluators_lists_the_exercises_under_each_license():
    exercises_under: dict[str, list[str]] = {}
    course = Course(root=ROOT)
    for exercise_id in course.exercise_ids():
        works = load_exercise(course.description(exercise_id)).source.adapted_from
        for form in sorted({each.license.partition(" (")[0] for each in works}):
            exercises_under.setdefault(form, []).append(exercise_id.removeprefix("exercise_"))
    page = (ROOT / "solutions/EVALUATION.md").read_text(encoding="utf-8")
    table = page.partition("| licence |")[2].partition("\n\n")[0].splitlines()[2:]
    assert sorted(table) == sorted(f"| {form} | {', '.join(ids)} |" for form, ids in exercises_under.items())


def test_hunts_contain_what_a_student_may_read_and_nothing_else():
    hunts = exercises(course=ROOT)
    assert [hunt.id for hunt in hunts] == Course(root=ROOT).exercise_ids()
    assert len({hunt.canary for hunt in hunts}) == len(hunts)
    for hunt in hunts:
        exercise = load_exercise(Course(root=ROOT).description(hunt.id))
        shown = f"{hunt.title} {hunt.theme} {hunt.prompt} {hunt.source} {hunt.license_note} {hunt.canary}"
        assert not [defect.id for defect in exercise.defects if defect.id in shown.split()]
        assert not [defect.title for defect in exercise.defects if defect.title in shown]
        assert hunt.entry in hunt.starter
        assert "python -m grader" not in hunt.prompt
        assert hunt.canary.startswith("grader hunt canary ")
        assert hunt.source
        assert exercise.source.adapted_from
        for each in exercise.source.adapted_from:
            assert f"{each.work}, licence {each.license}" in hunt.license_note
        counted = sum(1 for defect in exercise.defects if not defect.stretch)
        assert hunt.counted_defects == (counted if exercise.announces is Announcement.COUNT else None)
    with pytest.raises(UsageError, match="no exercises/ in"):
        exercises(course=ROOT / "grader")
    with pytest.raises(UsageError, match="course is 3; name the folder that contains exercises/"):
        exercises(course=3)
