"""`start`: one tiny hunt, from its first grading to its end, with the commands of every hunt."""

import re
from pathlib import Path

from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.student.first_hunt import FIRST_HUNT, practice_course

FILE = f".grader/start/exercises/{FIRST_HUNT}/attention.py"
WRONG, RIGHT = "weights.sum()", "weights.sum(dim=-1, keepdim=True)"


def done_steps(page):
    return [int(number) for number in re.findall(r"^✓ (\d)", page, re.MULTILINE)]


def hunt(run_cli, course):
    """Take every step of the tiny hunt. Return the last page."""

    def run(*arguments):
        done = run_cli(*arguments, cwd=course.root)
        assert done.stderr == ""
        return done.stdout

    page = run("start")
    assert page.startswith("Your first five minutes: Too quiet in company\n")
    assert FILE in page
    assert done_steps(page) == []
    page = run(FIRST_HUNT)
    assert f"· {FILE}\n" in page
    assert "wrong with query=2; right with query=1" in page
    assert done_steps(run("start")) == [1]
    assert "With one query the output is right" in run("hint", FIRST_HUNT)
    assert done_steps(run("start")) == [1, 2, 3]
    assert "out = attend(scores=scores, values=values)" in run("try", FIRST_HUNT, "--code")
    file = course.root / FILE
    starter = file.read_text(encoding="utf-8")
    file.write_text(starter.replace(WRONG, RIGHT), encoding="utf-8")
    assert done_steps(run("start")) == [1, 2, 3, 4, 5]
    page = run(FIRST_HUNT)
    assert "Fixed · 10 of 10 points" in page
    assert page.endswith("python -m grader start shows the steps of your first real hunt.\n")
    return run("start")


def test_the_tiny_hunt_has_steps_and_an_end_and_then_the_first_real_hunt_begins(own_course, run_cli):
    assert hunt(run_cli, own_course).startswith("Your first hunt: exercise_02 · It never took its first step\n")
    assert FIRST_HUNT not in run_cli(cwd=own_course.root).stdout


def test_an_edit_of_the_tiny_hunt_is_kept_until_it_is_reset(own_course, run_cli):
    run_cli("start", cwd=own_course.root)
    file = own_course.root / FILE
    starter = file.read_text(encoding="utf-8")
    file.write_text("# mine\n" + starter, encoding="utf-8")
    assert "✓ 5" in run_cli("start", cwd=own_course.root).stdout
    assert file.read_text(encoding="utf-8").startswith("# mine")
    said = run_cli("reset", FIRST_HUNT, cwd=own_course.root).stdout
    kept = re.search(r"attention.py: your version is kept as (\S+)", said)
    assert kept is not None
    assert (own_course.root / kept[1]).read_text(encoding="utf-8").startswith("# mine")
    assert file.read_text(encoding="utf-8") == starter


def test_whoever_has_graded_a_real_hunt_does_not_begin_with_the_tiny_one(own_course, run_cli):
    run_cli("exercise_02", cwd=own_course.root)
    page = run_cli("start", cwd=own_course.root).stdout
    assert page.startswith("Your first hunt: exercise_02")
    assert done_steps(page) == [1, 2, 3]


def test_the_starter_is_the_reference_with_its_bug_put_back(tmp_path: Path) -> None:
    course = practice_course(Course(root=tmp_path))
    defects = load_exercise(course.description(FIRST_HUNT)).defects
    starter = course.pristine(course.editable_files(FIRST_HUNT)[0]).read_text(encoding="utf-8")
    assert put_back(course.reference_text(FIRST_HUNT), defects) == starter
