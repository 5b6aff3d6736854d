"""Every subset of an exercise's defects is identified exactly; a proof checks this for every exercise."""

import pytest

from grader.spec.loading import load_exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result
from tests.support.judging import SEED, Judge
from tests.support.sampling import EXAMPLE, others_slow


@pytest.mark.parametrize("exercise_id", others_slow([EXAMPLE, "exercise_02"]))  # both have a defect that is extra
def test_every_subset_of_defects_is_named_exactly(judge_text: Judge, exercise_id: str) -> None:
    exercise = load_exercise(judge_text.course.description(exercise_id))
    subsets = list(exercise.subsets())
    verdicts = judge_text.many(exercise_id, [judge_text.variant(exercise_id, subset) for subset in subsets], SEED)
    counting = {defect.id for defect in exercise.defects if not defect.stretch}
    for subset, verdict in zip(subsets, verdicts, strict=True):
        present = {defect.id for defect in verdict.defects if defect.status is DefectStatus.PRESENT}
        fixed = {defect.id for defect in verdict.defects if defect.status is DefectStatus.FIXED}
        assert present == subset, verdict
        assert fixed == {defect.id for defect in exercise.defects} - subset
        assert verdict.regressions == []
        assert (verdict.outcome is Result.FIXED) == (not subset & counting)
    assert verdicts[0].score == exercise.max_score()
    assert verdicts[-1].score == 0
