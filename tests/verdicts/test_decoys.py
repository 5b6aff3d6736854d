"""Exercises whose starter looks wrong and is right: the unchanged starter is the answer, and no page reveals that."""

import pytest

from grader.report.check_names import check_name, check_names
from grader.report.overview import OverviewLine, render_overview
from grader.report.progress import Progress
from grader.spec.loading import load_exercise
from grader.spec.wrong_fixes import load_wrong_fixes
from grader.student.progress import load_progress
from grader.verdict.verdict import Result
from tests.support.pages import terminal_page
from tests.support.paths import ROOT
from tests.support.sampling import of_parts, sampled_in_parts
from tests.support.wrong_fixes import differences

DECOYS = sorted(
    path.parent.name for path in (ROOT / "solutions").glob("*/exercise.yaml") if "\ndefects: []" in path.read_text()
)


def test_there_are_decoys_among_the_hunts():
    assert DECOYS


@pytest.mark.parametrize("exercise_id", DECOYS)
def test_leaving_the_starter_alone_earns_everything_and_is_explained(judge_text, course, exercise_id):
    exercise = load_exercise(course.description(exercise_id))
    starter = course.pristine(course.editable_files(exercise_id)[0]).read_text(encoding="utf-8")
    verdict = judge_text(exercise_id, starter)
    assert (verdict.outcome, verdict.score, verdict.regressions) == (Result.FIXED, exercise.max_score(), [])
    assert " ".join(exercise.decoy.split()) in " ".join(terminal_page(verdict, exercise).split())


@pytest.mark.slow
@pytest.mark.parametrize(("exercise_id", "parts"), sampled_in_parts(DECOYS))
def test_a_change_that_breaks_a_right_starter_is_told_what_it_broke_and_not_that_nothing_was_wrong(
    judge_text, course, exercise_id, parts
):
    exercise = load_exercise(course.description(exercise_id))
    fixes = of_parts(load_wrong_fixes(course, exercise_id), parts)
    verdicts = judge_text.many(exercise_id, [fix.text for fix in fixes])
    for fix, verdict in zip(fixes, verdicts, strict=True):
        assert differences(verdict, fix.expect) == [], fix.name
        shown = " ".join(terminal_page(verdict, exercise, width=200).split())
        assert " ".join(exercise.decoy.split())[:40] not in shown, fix.name
        for check in fix.expect.broken or verdict.regressions[:1]:
            assert check_name(check, check_names(exercise)) in shown, fix.name


@pytest.mark.slow
def test_points_and_the_explanation_come_with_the_claim_that_nothing_is_wrong(own_course, run_cli):
    decoy = load_exercise(own_course.description(DECOYS[0]))
    explanation = " ".join(decoy.decoy.split())[:40]
    first = run_cli(DECOYS[0], cwd=own_course.root)
    assert (first.returncode, explanation in " ".join(first.stdout.split())) == (1, False)
    assert "Not yet · 0 of 10 points" in first.stdout
    assert "pass" not in first.stdout
    assert "nothing else broke so far" in first.stdout
    assert f"python -m grader claim {DECOYS[0]} sound" in " ".join(first.stdout.split())
    line = next(each for each in run_cli(cwd=own_course.root).stdout.splitlines() if DECOYS[0] in each)
    assert line.endswith("0 of 10 points")
    claimed = run_cli("claim", DECOYS[0], "sound", "--line", "12", cwd=own_course.root)
    assert claimed.returncode == 0
    assert "You named line 12." in claimed.stdout
    assert explanation in " ".join(claimed.stdout.split())
    assert load_progress(own_course, DECOYS[0]).is_solved()
    assert run_cli(DECOYS[0], cwd=own_course.root).returncode == 0


def test_a_claim_about_a_defective_starter_is_wrong_and_recorded(own_course, run_cli):
    answer = run_cli("claim", "exercise_03", "sound", "--line", "12", cwd=own_course.root)
    assert answer.returncode == 1
    assert "Your claim is wrong: " in answer.stdout
    assert [claim.is_right for claim in load_progress(own_course, "exercise_03").claims] == [False]
    assert not load_progress(own_course, "exercise_03").is_solved()


def test_a_decoy_that_nobody_tried_looks_like_any_other_in_the_list():
    untried = [
        OverviewLine(exercise=name, title="Title", progress=Progress(), difficulty=2)
        for name in ("exercise_01", DECOYS[0])
    ]
    first, second, *_ = render_overview(untried).splitlines()
    assert first.replace("exercise_01", DECOYS[0]) == second


@pytest.mark.parametrize("exercise_id", DECOYS)
def test_what_students_read_does_not_tell_which_they_are(course, exercise_id):
    folder = course.exercise_folder(exercise_id)
    for path in (*folder.glob("*"), ROOT / "exercises" / "README.md"):
        if path.is_file():
            text = path.read_text(encoding="utf-8").lower()
            assert "decoy" not in text
            assert "nothing to fix" not in text
