"""The term that solutions/README.md tells: its ten commands, for forty students on four platforms."""

import csv
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.gradebooks import rows
from tests.support.hostile import reference, starter
from tests.support.paths import ROOT

HEADING = "## A term in ten commands"
EACH = 10
SOURCES = ("fixed", "starter", "broken", "copy", "own")


def commands() -> list[list[str]]:
    text = (ROOT / "solutions/README.md").read_text(encoding="utf-8").partition(HEADING)[2]
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    return [shlex.split(line) for line in block[1].splitlines()]


def source(number: int, exercise: str) -> str:
    kind = SOURCES[number % len(SOURCES)]
    texts = {"fixed": reference(exercise), "broken": "def (:\n", "own": f"{starter(exercise)}\nMINE = {number}\n"}
    return texts.get(kind, f"# handed in by {number}\n{starter(exercise)}")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def hand_in(root: Path) -> None:
    """What four platforms give an instructor, and a roster."""
    with zipfile.ZipFile(root / "canvas.zip", "w") as archive:
        for number in range(EACH):
            archive.writestr(f"student{number}_{100 + number}_9{number}_attention.py", source(number, "exercise_03"))
    for number in range(EACH):
        put(root / f"moodle/Mo {number}_{number}_assignsubmission_file_/attention.py", source(number, "exercise_04"))
        put(root / f"repositories/exercise-03-login{number}/attention.py", source(number, "exercise_03"))
        put(root / f"nbgrader-course/submitted/nb{number}/exercise_03/attention.py", source(number, "exercise_03"))
    lines = [
        "id,name,group,canvas",
        "m0,Jane Smith,A,100",
        *(f"m{n},Student {n},B,{100 + n}" for n in range(1, EACH + 1)),
    ]
    put(root / "roster.csv", "\n".join(lines) + "\n")


def run(root: Path, command: list[str]) -> str:
    wide = os.environ | {"COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, *command[1:]], cwd=root, env=wide, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.slow
def test_the_terms_ten_commands_do_what_is_told_of_them(own_course):
    root = own_course.root
    hand_in(root)
    release, canvas, moodle, repositories, nbgrader, *others = commands()
    assert len(others) == 5
    run(root, release)
    assert not (root / "edition/solutions").exists()
    for command, layout in (
        (canvas, "canvas"),
        (moodle, "moodle"),
        (repositories, "repositories"),
        (nbgrader, "nbgrader"),
    ):
        assert f"layout: {layout}" in run(root, command)
    book = root / "class.sqlite"
    counts = "SELECT exercise, outcome, count(*) FROM current GROUP BY 1, 2 ORDER BY 1, 2"
    assert rows(book, counts) == [
        ("exercise_03", "fixed", 6),
        ("exercise_03", "not_fixed", 18),
        ("exercise_03", "not_gradable", 6),
        ("exercise_04", "fixed", 2),
        ("exercise_04", "not_fixed", 6),
        ("exercise_04", "not_gradable", 2),
    ]
    page, grades, feedback, history, regrade = others
    run(root, page)
    assert "Jane Smith" in (root / "page/index.html").read_text(encoding="utf-8")
    run(root, grades)
    with (root / "grades/canvas.csv").open(encoding="utf-8", newline="") as file:
        table = {row["SIS User ID"]: row["exercise_03"] for row in csv.DictReader(file)}
    assert (table["m0"], table["m1"], table["m10"]) == ("10", "0", "")
    run(root, feedback)
    assert (root / "feedback/student0_100_90_attention_exercise_03.html").is_file()
    assert (root / "feedback/Mo 3_3_assignsubmission_file_/feedback_exercise_04.txt").is_file()
    assert "fixed" in run(root, history)
    told = run(root, regrade)
    assert "to judge again: a check was too strict" in told
    assert rows(book, "SELECT count(*) FROM verdicts WHERE regrade IS NOT NULL") == [(3 * EACH,)]
    assert "regraded: a" in run(root, ["", "-m", "grader", "history", "nb3", "--gradebook", str(book)])
