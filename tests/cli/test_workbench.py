"""Hints, differences, a fresh start and the list: what a student has besides grading."""

import re
import subprocess
import sys

import pytest

from grader.course.loading import load_exercise
from grader.examiner.outcome import Finding
from grader.student.changes import changes, start_again
from grader.student.hints import next_hint
from grader.student.progress import Progress, load_progress, remember_verdict, save_progress
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result, Verdict, not_gradable
from tests.support.mending import mend_module, mend_notebook

EXERCISE = "exercise_03"
MASK, LONG = "mask-discarded", "long-sequence-unmasked"


@pytest.fixture
def hint(own_course):
    exercise = load_exercise(own_course.description(EXERCISE))
    return lambda: next_hint(own_course, exercise)


def graded(course, fixed: set[str], exercise_id: str = EXERCISE) -> None:
    """Remember a grading after which these defects were fixed."""
    exercise = load_exercise(course.description(exercise_id))
    defects = [
        DefectVerdict(each.id, DefectStatus.FIXED if each.id in fixed else DefectStatus.PRESENT, 0, 1, each.stretch)
        for each in exercise.defects
    ]
    is_whole = all(each.id in fixed for each in exercise.defects if not each.stretch)
    outcome = Result.FIXED if is_whole else Result.NOT_FIXED
    score = 10.0 if is_whole else 0.0
    remember_verdict(course, Verdict(exercise_id, "f", outcome, None, score, 10, 1, defects, [], [], {}, 0))


def test_each_call_gives_one_more_hint_and_the_last_one_is_said_to_be_the_last(own_course, hint):
    graded(own_course, set())
    wanted = [" ".join(text.split()) for text in load_exercise(own_course.description(EXERCISE)).defects[0].hints]
    assert hint() == f"{MASK}, hint 1 of 3: {wanted[0]}"
    assert hint() == f"{MASK}, hint 2 of 3: {wanted[1]}"
    assert hint() == f"{MASK}, hint 3 of 3: {wanted[2]} That was the last one."
    assert hint() == f"{MASK}, hint 3 of 3: {wanted[2]} That was the last one."
    assert load_progress(own_course, EXERCISE).hints_given == {MASK: 3}


def test_hints_follow_what_the_last_grading_left(own_course, hint):
    assert hint().startswith(f"{MASK}, hint 1 of 3: ")
    graded(own_course, {MASK})
    assert hint().startswith(f"{LONG}, hint 1 of 3: ")
    graded(own_course, {LONG})
    assert hint().startswith(f"{MASK}, hint 2 of 3: ")
    graded(own_course, {MASK, LONG})
    assert hint() == f"Every defect of {EXERCISE} is fixed; there is nothing left to hint at."


def test_an_attempt_that_cannot_be_graded_leaves_what_was_known_of_the_defects(own_course, hint):
    graded(own_course, {MASK})
    exercise = load_exercise(own_course.description(EXERCISE))
    remember_verdict(own_course, not_gradable(exercise, "f", 1, Finding("load", "it raises")))
    assert hint().startswith(f"{LONG}, hint 1 of 3: ")
    progress = load_progress(own_course, EXERCISE)
    assert (progress.outcome, progress.score) == (Result.NOT_GRADABLE, 0.0)
    assert progress.statuses[MASK] is DefectStatus.FIXED


def test_defects_that_count_are_hinted_at_before_those_that_are_extra(own_course):
    exercise = load_exercise(own_course.description("exercise_07"))
    counting = [each.id for each in exercise.defects if not each.stretch]
    graded(own_course, set(counting[:-1]), "exercise_07")
    assert next_hint(own_course, exercise).startswith(f"{counting[-1]}, hint 1 of 3: ")


def test_a_hint_before_the_first_grading_says_that_grading_would_help(hint):
    assert hint().endswith(f"\n(Run python -m grader {EXERCISE} first, and hints follow what is left.)")


def test_a_spoilt_memory_is_forgotten_and_replaced(own_course, hint):
    path = own_course.state_folder() / "progress" / f"{EXERCISE}.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"score": "much"}')
    assert load_progress(own_course, EXERCISE) == Progress()
    assert hint().startswith(f"{MASK}, hint 1 of 3: ")
    assert load_progress(own_course, EXERCISE).hints_given == {MASK: 1}


def test_nothing_has_changed_in_a_fresh_exercise(own_course):
    assert changes(own_course, EXERCISE) == ""


def test_changes_are_shown_as_a_unified_diff_for_either_twin(own_course):
    module, notebook = own_course.editable_files(EXERCISE)
    for path, mend in ((notebook, mend_notebook), (module, mend_module)):
        mend(path)
        lines = changes(own_course, EXERCISE).splitlines()
        assert lines[:2] == [f"--- starter/{path.name}", f"+++ yours/{path.name}"]
        assert [line for line in lines[2:] if line[0] in "+-"] == [
            "-        attn_scores.masked_fill(self.causal_mask.bool()[:con_len, :con_len], -torch.inf)",
            "+        attn_scores = attn_scores.masked_fill(self.causal_mask.bool()[:con_len, :con_len], -torch.inf)",
        ]
        path.write_bytes(own_course.pristine(path).read_bytes())


def test_starting_again_keeps_a_copy_and_restores_both_twins(own_course):
    module, notebook = own_course.editable_files(EXERCISE)
    mend_module(module)
    edited = module.read_bytes()
    notebook.unlink()
    first, second = start_again(own_course, EXERCISE)
    kept = first.removeprefix("attention.py: your version is kept as ")
    assert re.fullmatch(r"\.grader/kept/exercise_03/attention-\d{8}-\d{6}\.py", kept)
    assert (own_course.root / kept).read_bytes() == edited
    assert second == "attention.ipynb: it was missing and is back"
    for path in (module, notebook):
        assert path.read_bytes() == own_course.pristine(path).read_bytes()
    assert start_again(own_course, EXERCISE) == [f"{EXERCISE} is as it was handed out; nothing to reset"]


def test_no_kept_copy_is_ever_written_over(own_course):
    module, _ = own_course.editable_files(EXERCISE)
    for number in range(3):
        module.write_text(f"version = {number}\n")
        start_again(own_course, EXERCISE)
    kept = sorted((own_course.state_folder() / "kept" / EXERCISE).iterdir())
    assert sorted(path.read_text() for path in kept) == [f"version = {number}\n" for number in range(3)]


def test_the_commands_do_what_they_say(own_course, run_cli):
    module, _ = own_course.editable_files(EXERCISE)
    assert run_cli("diff", EXERCISE, cwd=own_course.root).stdout == "Nothing has changed since the starter.\n"
    module.write_text("x = 1\n")
    shown = run_cli("diff", EXERCISE, cwd=own_course.root)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.endswith("+x = 1\n")
    reset = run_cli("reset", EXERCISE, cwd=own_course.root)
    assert (reset.returncode, reset.stderr) == (0, "")
    assert reset.stdout.startswith("attention.py: your version is kept as .grader/kept/exercise_03/attention-")
    assert run_cli("hint", EXERCISE, cwd=own_course.root).stdout.startswith(f"{MASK}, hint 1 of 3: ")


def test_an_exercise_that_does_not_exist_is_wrong_usage_and_the_known_ones_are_named(own_course, run_cli):
    for command in (("exercise_99",), ("hint", "exercise_99"), ("mistyped",)):
        answer = run_cli(*command, cwd=own_course.root)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert "the exercises are exercise_01, exercise_02" in answer.stderr


def test_the_list_shows_every_state_and_the_overall_progress(own_course, run_cli):
    graded(own_course, {MASK})
    graded(own_course, {"k-reuses-q-proj"}, "exercise_01")
    save_progress(own_course, "exercise_05", Progress(Result.NOT_GRADABLE, 0, 10))
    shown = run_cli(cwd=own_course.root, columns=80)
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert [line[:13] for line in lines[:7]] == [f"{mark} exercise_{n:02}" for n, mark in enumerate("✗·✓·✗··", 1)]
    assert lines[0].endswith("0 of 10, 1 of 4 gone")
    assert lines[1].endswith("not tried yet")
    assert lines[2].endswith("fixed, 10 of 10")
    assert lines[4].endswith("not gradable")
    assert "█" * 4 + "░" * 26 + "  1 of 7 fixed" in lines
    assert lines[-1] == "Next: read exercises/exercise_01/README.md, then python -m grader exercise_01"


def test_the_list_imports_no_torch(own_course):
    command = [sys.executable, "-X", "importtime", "-m", "grader"]
    shown = subprocess.run(command, cwd=own_course.root, capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    imported = {line.rpartition("|")[2].strip().split(".")[0] for line in shown.stderr.splitlines()}
    assert "grader" in imported
    assert not imported & {"torch", "numpy", "pytest", "nbformat"}
