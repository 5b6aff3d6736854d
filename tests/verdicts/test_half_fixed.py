"""A defect fixed in part is never called fixed or new, and costs no more than one that is not fixed at all."""

from collections import Counter

import pytest

from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from tests.benchmarks.attribution import COLUMNS, measured
from tests.support.half_fixed import half_fixed
from tests.support.judging import Judge
from tests.support.paths import ROOT
from tests.support.sampling import others_slow

EXERCISES = [
    each for each in Course(root=ROOT).exercise_ids() if load_exercise(Course(root=ROOT).description(each)).defects
]
QUICKEST = "exercise_26"
"""The exercise whose half-fixed submissions take the least time."""


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", others_slow(sorted(EXERCISES, key=lambda each: each != QUICKEST)))
def test_nothing_false_is_said_of_a_half_fixed_defect(judge_text: Judge, exercise_id: str) -> None:
    found = measured(judge_text, exercise_id, with_others=False)
    assert found["made"]
    assert Counter({name: found[name] for name in COLUMNS[2:] if found[name]}) == Counter()


def test_a_half_fixed_submission_is_neither_the_reference_nor_the_variant(course: Course) -> None:
    exercise = load_exercise(course.description("exercise_10"))
    reference = course.reference_text("exercise_10")
    made = [*half_fixed(exercise, reference)]
    whole = {each.id: put_back(reference, [each]) for each in exercise.defects}
    assert {each.defect for each in made} == whole.keys()
    assert all(each.text not in (reference, whole[each.defect]) for each in made)
    assert len({each.text for each in made}) == len(made)
    conditions = {each.condition for each in made}
    assert {"in place 0 of 2", "in training", "without gradients", "in float64", "in large tensors"} <= conditions
    by_name = {each.condition: each.text for each in made if each.defect == "scale-of-the-embedding"}
    assert "if not self.training:\n            queries = queries / e ** (1 / 4)" in by_name["in evaluation"]
