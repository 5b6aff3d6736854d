"""A wrong fix, however plausible, never gets full marks, and its verdict reports what its entry expects."""

import pytest

from grader.errors import SpecError
from grader.spec.paths import Course
from grader.spec.wrong_fixes import load_wrong_fixes, path_of
from tests.support.judging import AMPLE, Judge
from tests.support.paths import CORPUS
from tests.support.sampling import of_parts, sampled_in_parts
from tests.support.wrong_fixes import differences

EXERCISES = sorted(path.stem for path in (CORPUS / "wrong_fixes").glob("*.yaml"))


@pytest.mark.parametrize(("exercise_id", "parts"), sampled_in_parts(EXERCISES))
def test_no_wrong_fix_gets_full_marks(judge_text: Judge, exercise_id: str, parts: tuple[int, ...]) -> None:
    fixes = of_parts(load_wrong_fixes(judge_text.course, exercise_id), parts)
    verdicts = judge_text.many(exercise_id, [fix.text for fix in fixes], limits=AMPLE)
    wrong = {
        fix.name: found
        for fix, verdict in zip(fixes, verdicts, strict=True)
        if (found := differences(verdict, fix.expect))
    }
    assert not wrong


def test_every_exercise_has_wrong_fixes_with_names_of_their_own(course: Course) -> None:
    assert course.exercise_ids() == EXERCISES
    for exercise_id in EXERCISES:
        fixes = load_wrong_fixes(course, exercise_id)
        assert fixes
        assert len({fix.name for fix in fixes}) == len({fix.text for fix in fixes}) == len(fixes)


def test_a_whole_file_has_an_entry(course: Course) -> None:
    files = {(path.parent.name, path.stem) for path in (CORPUS / "wrong_fixes").glob("*/*.py")}
    named = {(exercise_id, fix.name) for exercise_id in EXERCISES for fix in load_wrong_fixes(course, exercise_id)}
    assert files <= named


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("was: no such line, becomes: pass", "exercise_03.yaml: wrong fix a_name: .* 'no such line' occurs nowhere"),
        ("was: qkv_bias, becomes: bias", "exercise_03.yaml: wrong fix a_name: .* 'qkv_bias' occurs [0-9]+ times"),
        ("was: qkv_bias, because: bias", "exercise_03.yaml: .*because"),
    ],
)
def test_an_entry_that_does_not_fit_names_its_file_and_fragment(own_course: Course, entry: str, message: str) -> None:
    path = path_of(own_course, "exercise_03")
    path.parent.mkdir(parents=True)
    path.write_text(f"- {{name: a_name, why: a test, from: starter, edits: [{{{entry}}}]}}\n", encoding="utf-8")
    with pytest.raises(SpecError, match=message):
        load_wrong_fixes(own_course, "exercise_03")
