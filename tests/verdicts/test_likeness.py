"""A half fix is one by its numbers: a module that fails as a variant does, with other values, has mended nothing."""

import pytest

from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.examiner.examiner import Examiner
from grader.examiner.pytest_session import with_examiner
from grader.submission import submission_from_text
from grader.verdict.attribution import DefectStatus
from grader.verdict.likeness import agree
from tests.support.judging import Judge
from tests.support.paths import ROOT

COURSE = Course(ROOT)
SEEDS = (5, 6, 7)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("at [1, 2]: expected -1.07, saw 0.181; 8 of 9 off", "at [1, 2]: expected -1.07, saw 0.182; 8 of 9 off", True),
        ("output at [1, 2]: expected -1.07, saw 0.181", "output at [1, 2]: expected -1.07, saw 0.28", False),
        ("output at [1, 2]: expected -1.07, saw 0.181", "output at [1, 3]: expected -1.07, saw 0.181", False),
        ("expected a finite number, saw nan", "expected a finite number, saw nan", True),
        ("expected a finite number, saw nan", "expected a finite number, saw inf", False),
        ("expected -1e-05, saw 3", "expected 1e-05, saw 3", True),
        ("W_key gets no gradient", "W_value gets no gradient", False),
    ],
)  # fmt: skip
def test_findings_agree_by_their_words_and_numbers(one: str, other: str, expected: bool) -> None:
    assert agree(one, other) is expected


@pytest.mark.parametrize("exercise_id", ["exercise_01", "exercise_03", "exercise_04", "exercise_07"])
def test_an_honest_half_fix_is_known_at_any_seed(judge_text: Judge, exercise_id: str) -> None:
    exercise = load_exercise(judge_text.course.description(exercise_id))
    for defect in exercise.defects:
        text = judge_text.variant(exercise_id, frozenset({defect.id})) + "\n\nATTEMPT = 2\n"
        for seed in SEEDS:
            verdict = judge_text(exercise_id, text, seed)
            present = {each.id for each in verdict.defects if each.status is not DefectStatus.FIXED}
            assert present == {defect.id}, seed


@pytest.mark.parametrize("exercise_id", COURSE.exercise_ids())
def test_a_check_alone_sees_what_it_sees_among_others(judge_text: Judge, exercise_id: str) -> None:
    """So what a look-alike's other checks see need not be known."""
    exercise = load_exercise(judge_text.course.description(exercise_id))
    everything = judge_text.variant(exercise_id, frozenset(defect.id for defect in exercise.defects))
    submission = submission_from_text(everything)

    def body(examiner: Examiner) -> None:
        among_others = {outcome.check: outcome.finding for outcome in examiner.examine(submission, SEEDS[0]).outcomes}
        assert any(among_others.values())
        for check, finding in among_others.items():
            (alone,) = examiner.examine(submission, SEEDS[0], only={check}).outcomes
            assert (alone.check, alone.finding) == (check, finding)

    with_examiner(judge_text.course, exercise, judge_text.source, body)


def test_the_numbers_of_another_fault_earn_nothing(judge_text: Judge) -> None:
    """Scores are halved: the same checks fail with the same sorts of faults as where keys reuse the queries' layer."""
    text = judge_text.variant("exercise_01", frozenset({"k-reuses-q-proj"}))
    assert text.count("self.q_proj(x)") > 1
    other = text.replace("scores = ", "scores = 0.5 * ", 1) if "scores = " in text else text.replace("/ ", "/ 2 / ", 1)
    assert other != text
    for seed in SEEDS:
        verdict = judge_text("exercise_01", other, seed)
        assert verdict.score == 0.0, [(each.id, each.status) for each in verdict.defects]
