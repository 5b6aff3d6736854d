"""For each hunt some claim separates the starter from right code, so that its bugs can be located by evidence."""

import pytest

from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.student.evidence import find_call
from grader.submission import submission_from_text
from grader.verdict.judge import open_judge
from tests.support.forgetting import forget_descriptions
from tests.support.paths import ROOT
from tests.support.separation import separating_claims

EXERCISES = sorted(path.name for path in (ROOT / "solutions").glob("exercise_*"))
SEED = 7

NOT_ABOUT_VALUES = {"exercise_05"}
"""Hunts whose bugs change no value of a call: names, prints and refusals, which the findings state themselves."""


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_some_claim_separates_the_starter_from_the_reference(course, exercise_id):
    exercise = load_exercise(course.description(exercise_id))
    reference = course.reference_text(exercise_id)
    right, starter = (submission_from_text(each) for each in (reference, put_back(reference, exercise.defects)))
    forget_descriptions()
    with open_judge(course, first=exercise_id) as judge:
        verdict = judge(exercise_id, starter, "starter", SEED)
        call, listed = find_call(judge, exercise, starter, verdict)
        found = separating_claims(judge, exercise, starter, right, call, listed.values)
    has_claims = bool(exercise.defects) and exercise_id not in NOT_ABOUT_VALUES
    assert bool(found) is has_claims
