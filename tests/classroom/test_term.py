"""A term, end to end: the ten commands of solutions/README.md, for forty students on four platforms."""

import csv
import itertools
import os
import re
import shlex
import zipfile
from collections.abc import Callable

import pytest

from grader.classroom.exports.writing import EXPORTS
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from tests.support.commands import Done
from tests.support.gradebooks import rows
from tests.support.hostile import reference, starter
from tests.support.notebooks import code, notebook
from tests.support.paths import ROOT
from tests.support.wrong_fixes import wrong_fix

HEADING = "## Ten commands for a term"
BASES = {"canvas": 0, "moodle": 10, "repositories": 20, "nbgrader": 30}
"""Where each platform's ten students begin in the roster."""

KINDS = ("fixed", "starter", "half", "wrong", "broken", "notebook", "missing", "link", "copy", "prints")
"""What the students of a platform hand in, in order; no platform but these two can hand out a link."""

LINKED = ("moodle", "repositories")
STRICT = "  - property: prints_nothing\n"
"""A check that asks too much of exercise_03, which does not say that nothing may be printed."""

GRADES = "SELECT student, exercise, outcome, score, max_score FROM current ORDER BY 1, 2"


def commands() -> list[list[str]]:
    text = (ROOT / "solutions/README.md").read_text(encoding="utf-8").partition(HEADING)[2]
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    return [shlex.split(line)[3:] for line in block[1].splitlines()]


class Term:
    """A class, its course, and what its students hand in."""

    def __init__(self, course: Course, run_cli: Callable[..., Done]) -> None:
        self.course = course
        self.root = course.root
        self.book = course.root / "class.sqlite"
        self._run_cli = run_cli

    def run(self, command: list[str]) -> str:
        done = self._run_cli(*command, cwd=self.root, columns=200)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def grades(self) -> dict[str, tuple[str, float]]:
        """Outcome and score of everybody who has a verdict."""
        return {student: (outcome, score) for student, _, outcome, score, _ in rows(self.book, GRADES)}

    def hand_in(self) -> None:
        """What four platforms give an instructor, and a roster."""
        with zipfile.ZipFile(self.root / "canvas.zip", "w") as archive:
            for number, kind in enumerate(KINDS):
                late = "LATE_" if number % 3 == 2 else ""
                for name, text in self.files(kind, "exercise_03", number):
                    archive.writestr(f"müllerstudent{number}_{late}{100 + number}_9{number}_{name}", text)
            archive.writestr("__MACOSX/._müllerstudent1_101_91_attention.py", "")
        self.put_folders("moodle", "moodle/Mo {}_{}_assignsubmission_file_", "exercise_04")
        self.put_folders("repositories", "repositories/exercise-03-login{}", "exercise_03")
        self.put_folders("nbgrader", "nbgrader-course/submitted/m{1}/exercise_03", "exercise_03")
        lines = ["id;name;group;canvas_id;login"]
        for number in range(10):
            lines += [f"m{number};{'Jane Smith' if number == 0 else f'Student {number}'};A;{100 + number};"]
            lines += [f"m{10 + number};Mo {number};A;;", f"m{20 + number};=cmd();B;;login{number}"]
            lines += [f"m{30 + number};Nb {number};B;;"]
        (self.root / "roster.csv").write_text("\ufeffsep=;\n" + "\n".join(lines) + "\n", encoding="utf-8")

    def put_folders(self, platform: str, pattern: str, exercise: str) -> None:
        for number, kind in enumerate(KINDS):
            folder = self.root / pattern.format(number, BASES[platform] + number)
            (folder / ".ipynb_checkpoints").mkdir(parents=True)
            for name, text in self.files(kind, exercise, BASES[platform] + number):
                (folder / name).write_text(text, encoding="utf-8")
            if kind == "link" and platform in LINKED:
                (folder / "attention.py").unlink()
                (folder / "attention.py").symlink_to(self.course.reference(exercise))

    def files(self, kind: str, exercise: str, number: int) -> list[tuple[str, str]]:
        """The files that a student hands in."""
        if kind == "missing":
            return [("notes.txt", "I was ill.")]
        if kind == "notebook":
            return [("attention.ipynb", notebook(code("%load_ext grader"), code(reference(exercise))))]
        defects = load_exercise(self.course.description(exercise)).defects
        wrong = {"exercise_03": "no_scale", "exercise_04": "scale_of_the_number_of_keys"}[exercise]
        texts = {
            "fixed": reference(exercise),
            "half": put_back(reference(exercise), defects[:1]),
            "wrong": wrong_fix(Course(root=ROOT), exercise, wrong),
            "broken": "def (:\n",
            "prints": re.sub(r"( +)(return [^\n]+\n)(?=\Z|\n*\Z)", r"\1print('done')\n\1\2", reference(exercise)),
        }
        text = texts.get(kind, f"# handed in by {number}\n{starter(exercise)}")
        again = [("attention-1.py", reference(exercise))] if kind == "link" and number < BASES["moodle"] else []
        return [("attention.py", text), *again]


@pytest.fixture
def term(own_course: Course, run_cli: Callable[..., Done]) -> Term:
    return Term(own_course, run_cli)


def of_kinds(platform: str, **verdicts: tuple[str, float]) -> dict[str, tuple[str, float]]:
    return {f"m{BASES[platform] + KINDS.index(kind)}": verdict for kind, verdict in verdicts.items()}


@pytest.mark.slow
def test_the_ten_commands_of_a_term_do_what_the_readme_says(term: Term) -> None:
    description = term.course.description("exercise_03")
    original = description.read_text(encoding="utf-8")
    description.write_text(original.replace("near_misses:", f"{STRICT}near_misses:", 1), encoding="utf-8")
    term.hand_in()
    release, canvas, moodle, repositories, nbgrader, page, grades, feedback, history, regrade = commands()
    term.run(release)
    assert not (term.root / "edition/solutions").exists()
    for command, layout in zip((canvas, moodle, repositories, nbgrader), BASES, strict=True):
        told = term.run(command)
        assert f"layout: {layout}" in told
        assert "contains nothing to grade: " in told
        assert ("a link, not followed: " in told) == (layout in LINKED)
        assert "not in the roster" not in told

    fixed, untouched, refused = ("fixed", 10.0), ("not_fixed", 0.0), ("not_gradable", 0.0)
    common = {"fixed": fixed, "starter": untouched, "broken": refused, "notebook": fixed, "copy": untouched}
    of_03 = common | {"half": untouched, "wrong": untouched, "prints": ("not_fixed", 7.0)}
    of_04 = common | {"half": ("not_fixed", 5.0), "wrong": ("not_fixed", 7.0), "prints": fixed}  # an extra is left
    first = {
        **of_kinds("canvas", **of_03, link=fixed),  # the second of two uploads
        **of_kinds("moodle", **of_04),
        **of_kinds("repositories", **of_03),
        **of_kinds("nbgrader", **of_03, link=untouched),
    }
    assert term.grades() == first

    # only the resubmission is judged
    (term.root / "repositories/exercise-03-login1/attention.py").write_text(reference("exercise_03"), encoding="utf-8")
    assert "7 already judged" in term.run(repositories)
    assert term.grades() == first | {"m21": fixed}

    term.run(page)
    shown = (term.root / "page/index.html").read_text(encoding="utf-8")
    assert all(word in shown for word in ("Jane Smith (m0)", "40 students, 2 exercises", "Missed most: defect"))
    term.run(grades)
    with (term.root / "grades/canvas.csv").open(encoding="utf-8", newline="") as file:
        table = {row["SIS User ID"]: row for row in csv.DictReader(file)}
    assert [table[student]["exercise_03"] for student in ("m0", "m1", "m6", "m9", "m27")] == ["10", "0", "", "7", ""]
    assert table["m0"]["exercise_03 extra"] == "1"
    assert (table["m20"]["Student"], table["m3"]["ID"]) == ("'=cmd()", "103")
    for name in sorted(EXPORTS):
        term.run(["export", "class.sqlite", "--to", name, f"exports/{name}"])
    counts = {name: sum(len(files) for *_, files in os.walk(term.root / "exports" / name)) for name in sorted(EXPORTS)}
    assert counts == dict.fromkeys(sorted(EXPORTS), len(first)) | dict.fromkeys(("canvas", "csv", "html"), 1)
    with (term.root / "exports/csv/grades.csv").open(encoding="utf-8", newline="") as file:
        absent = {row["student"] for row in csv.DictReader(file) if row["exercise"] == "exercise_04"} - {"m10"}
    assert len(absent) == 39  # every student in the roster has a line
    no_feedback_spoils_a_hunt(term, feedback, len(first))

    # the check is corrected, so every submission is judged again
    assert "fixed" in term.run(history)
    description.write_text(original, encoding="utf-8")
    told = term.run(regrade)
    assert "again: a check was too strict" in told
    lifted = [f"m{BASES[platform] + KINDS.index('prints')}" for platform in ("canvas", "repositories", "nbgrader")]
    assert term.grades() == first | {"m21": fixed} | dict.fromkeys(lifted, fixed)
    assert rows(term.book, "SELECT DISTINCT reason FROM regrades") == [("a check was too strict",)]
    told = term.run(["history", "m39", "--gradebook", "class.sqlite"])
    assert [told.count(word) for word in ("not fixed", "regraded: a check was too strict")] == [1, 1]


def no_feedback_spoils_a_hunt(term: Term, feedback: list[str], count: int) -> None:
    """Everybody's is written where the platform takes it back, and names no defect that is still there."""
    term.run(feedback)
    written = [path for path in (term.root / "feedback").rglob("*") if path.is_file()]
    assert len(written) == 2 * count
    assert (term.root / "feedback/Mo 3_13_assignsubmission_file_/feedback_exercise_04.txt").is_file()
    assert (term.root / "feedback/müllerstudent2_LATE_102_92_attention_exercise_03.html").is_file()
    places = {
        "exercise_03": ("müllerstudent1_101_91_attention_exercise_03", "m28/exercise_03/feedback"),
        "exercise_04": ("Mo 1_11_assignsubmission_file_/feedback_exercise_04",),
    }
    for exercise, (place, suffix) in itertools.chain.from_iterable(
        ((exercise, each) for each in itertools.product(places[exercise], ("html", "txt"))) for exercise in places
    ):
        text = (term.root / f"feedback/{place}.{suffix}").read_text(encoding="utf-8")
        assert "still there" in text
        defects = load_exercise(term.course.description(exercise)).defects
        assert not [each for each in defects if each.id in text or each.title in text]
