"""Traps of a class: judged, recorded, shared, resumed, scored again and exported beside the submissions."""

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.classroom.exports.records import ExerciseLoader
from grader.classroom.exports.writing import export, write_feedback
from grader.classroom.gradebook import Gradebook, SubmissionRecord, Versions, WorkKind
from grader.classroom.regrade import rescore
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.trap.reading import TEMPLATE
from grader.trap.result import Caught, Count, DefectResult, Standing, TrapResult
from grader.trap.result import TestResult as ResultOfTest
from tests.support.commands import run_program
from tests.support.gradebooks import CLOSED, VERSIONS, rows, submission, verdict
from tests.support.hostile import reference, starter
from tests.support.paths import ROOT
from tests.support.traps import PAST, TOO_LONG

EXERCISE = "exercise_03"

SHAPE = (
    "\n\ndef test_shape(subject, gaussian):\n    assert subject(4, 6, 8, 0.0)(gaussian(2, 5, 4)).shape == (2, 5, 6)\n"
)
LEAVING = "\n\ndef test_leaving(subject):\n    import os\n    subject(4, 6, 8, 0.0)\n    os._exit(0)\n"


def trap(student: str = "ada", digest: str = "t1") -> SubmissionRecord:
    file = f"{student}/{EXERCISE}/trap.py"
    return SubmissionRecord(student=student, exercise=EXERCISE, file=file, digest=digest, kind=WorkKind.TRAP)


def result(*, caught: bool = True, **changes: object) -> TrapResult:
    """Return the result of a trap that catches defect 1 of two."""
    found = Caught.ALWAYS if caught else Caught.NEVER
    points = 7.0 if caught else 0.0
    fields: dict[str, object] = {
        "exercise": EXERCISE,
        "file": "trap.py",
        "seed": 5,
        "tests": (ResultOfTest(name="test_past", standing=Standing.COUNTS, accepts=9, of=9, catches=2),),
        "defects": (
            DefectResult(number=1, points=points, max_points=7.0, stretch=False, caught=found, by=("test_past",)),
            DefectResult(number=2, points=0.0, max_points=1.0, stretch=True, caught=Caught.NEVER),
        ),
        "subsets": Count(caught=2 if caught else 0, of=3),
        "score": points,
        "max_score": 8.0,
        "isolation": CLOSED,
        "seconds": 1.5,
    }
    return TrapResult(**(fields | changes))  # type: ignore[arg-type]  # of many types


@pytest.fixture
def book_path(tmp_path: Path) -> Path:
    """Return a gradebook in which ada has both kinds of work, bob a module alone and cleo a trap alone."""
    path = tmp_path / "class.sqlite"
    with Gradebook(path) as book:
        batch = book.begin_batch(3, str(tmp_path), {"shares": True, "layout": "folders", "options": {}})
        for student in ("ada", "bob"):
            book.record(batch, submission(student), VERSIONS, verdict())
        book.record_trap(batch, trap("ada"), VERSIONS, result())
        book.record_trap(batch, trap("cleo", "t2"), VERSIONS, result(caught=False))
    return path


def test_a_trap_and_a_module_have_verdicts_of_their_own(book_path: Path) -> None:
    assert rows(book_path, "SELECT student, outcome, score FROM current ORDER BY 1") == [
        ("ada", "not_fixed", 3.5),
        ("bob", "not_fixed", 3.5),
    ]
    assert rows(book_path, "SELECT student, outcome, score, max_score FROM current_traps ORDER BY 1") == [
        ("ada", "caught", 7.0, 8.0),
        ("cleo", "not_caught", 0.0, 8.0),
    ]
    with Gradebook(book_path) as book:
        assert book.is_judged(trap("ada"), VERSIONS, accepts_open=False)
        assert not book.is_judged(trap("ada", "t3"), VERSIONS, accepts_open=False)
        assert not book.is_judged(trap("bob"), VERSIONS, accepts_open=False)
        assert not book.is_judged(trap("ada"), Versions(kit="k", torch="t", exercise="e"), accepts_open=False)
        assert book.attempt(trap("ada", "t3")) == 1


def test_equal_traps_share_a_verdict_unless_time_decided_it(book_path: Path) -> None:
    with Gradebook(book_path) as book:
        found = book.find_equal(trap("dan"), VERSIONS, 5, accepts_open=False)
        assert found is not None
        book.record_shared(1, trap("dan"), VERSIONS, found)
        slow = result(tests=(ResultOfTest(name="test_slow", standing=Standing.TOO_SLOW),))
        book.record_trap(1, trap("eva", "t4"), VERSIONS, slow)
        assert book.find_equal(trap("fay", "t4"), VERSIONS, 5, accepts_open=False) is None
    assert rows(book_path, "SELECT score, shared_with FROM current_traps WHERE student = 'dan'") == [(7.0, "ada")]


def test_the_grades_show_the_traps_points(book_path: Path, course: Course, tmp_path: Path) -> None:
    export(book_path, "csv", tmp_path / "out", course)
    with (tmp_path / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
        found = {row["student"]: row for row in csv.DictReader(file)}
    assert [found["ada"][name] for name in ("score", "trap_outcome", "trap_score", "trap_max_score", "trap_extra")] == [
        *("3.5", "caught", "7", "8", "0"),
    ]
    assert [found["bob"][name] for name in ("outcome", "trap_outcome", "trap_score")] == ["not_fixed", "", ""]
    assert [found["cleo"][name] for name in ("outcome", "score", "trap_score")] == ["absent", "", "0"]


def test_the_feedback_has_a_page_for_each_trap(book_path: Path, course: Course, tmp_path: Path) -> None:
    folder = tmp_path / "feedback"
    assert write_feedback(book_path, folder, ExerciseLoader(course)) == 4
    text = (folder / "ada" / EXERCISE / "trap.txt").read_text(encoding="utf-8")
    assert "defect 1  caught by test_past" in text
    assert "Trap: 7 of 8 points" in text
    assert "seed" not in text  # later traps are judged with the same one
    assert "mask" not in text
    assert "Trap: 7 of 8 points" in (folder / "ada" / EXERCISE / "trap.html").read_text(encoding="utf-8")
    assert (folder / "cleo" / EXERCISE / "trap.txt").is_file()
    assert not (folder / "bob" / EXERCISE / "trap.txt").exists()


def test_the_class_page_counts_what_the_traps_catch(book_path: Path, course: Course, tmp_path: Path) -> None:
    export(book_path, "html", tmp_path / "out", course)
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "2 traps; mean score 3.5 of 8" in page
    assert '<li>defect 1 <span class="dim">(by 1 of 2)</span></li>' in page
    assert '<li>extra 2 <span class="dim">(by 0 of 2)</span></li>' in page


def test_new_points_change_the_scores_of_traps(book_path: Path, own_course: Course) -> None:
    path = own_course.description(EXERCISE)
    text = path.read_text(encoding="utf-8")
    exercise = load_exercise(path)
    usual = next(each for each in exercise.defects if not each.stretch)
    path.write_text(text.replace(f"points: {usual.points:g}\n", "points: 4\n", 1), encoding="utf-8")
    with Gradebook(book_path) as book:
        assert rescore(book, load_exercise(path), VERSIONS.exercise, WorkKind.TRAP) == 2
    found = rows(book_path, "SELECT student, score, max_score FROM current_traps ORDER BY 1")
    assert found == [("ada", 4.0, 5.0), ("cleo", 0.0, 5.0)]
    assert rows(book_path, "SELECT DISTINCT points FROM trap_defects WHERE caught = 'always'") == [(4.0,)]


def hand_in_class(root: Path) -> Path:
    """Write a class of 40: modules right and wrong, and traps good, weak, broken, hostile, unwritten and copied."""
    traps = [PAST + TOO_LONG, PAST, TOO_LONG, SHAPE, PAST + LEAVING, "def test_a(:\n", TEMPLATE, ""]
    for number in range(40):
        folder = root / f"student{number:02}" / EXERCISE
        folder.mkdir(parents=True)
        if number % 5:
            source = reference() if number % 2 else starter()
            (folder / "attention.py").write_text(source, encoding="utf-8")
        text = traps[number % len(traps)].format(exercise=EXERCISE) if number % 8 == 6 else traps[number % len(traps)]
        own = f"\n# copy {number % 3}\n" if number % 8 < 5 else ""
        if text:
            (folder / "trap.py").write_text(text + own, encoding="utf-8")
    return root


def count(path: Path) -> int:
    try:
        return int(rows(path, "SELECT count(*) FROM verdicts")[0][0])
    except Exception:  # noqa: BLE001 - the file does not exist yet
        return 0


@pytest.mark.slow
def test_a_class_of_forty_is_judged_with_its_traps(tmp_path: Path) -> None:
    folder, path = hand_in_class(tmp_path / "class"), tmp_path / "class.sqlite"
    command = [sys.executable, "-m", "grader", "batch", str(folder), "--gradebook", str(path), "--seed", "3"]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while count(path) < 20 and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.wait()
    kept = count(path)
    done = run_program("batch", folder, "--gradebook", path, "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert f"{kept} already judged" in done.stdout
    total = 32 + 30
    assert rows(path, "SELECT count(*), count(DISTINCT submission) FROM verdicts") == [(total, total)]
    outcomes = "SELECT outcome, count(*), max(score) FROM current_traps GROUP BY outcome ORDER BY 1"
    assert rows(path, outcomes) == [("caught", 15, 8.0), ("not_caught", 10, 0.0), ("not_gradable", 5, 0.0)]
    judged = rows(path, "SELECT count(*) FROM current_traps WHERE shared_with IS NULL")[0][0]
    assert judged <= 5 * 3 + 1  # equal traps are judged once
    rerun = run_program("batch", folder, "--gradebook", path)
    assert "0 judged, 0 shared" in rerun.stdout
    assert count(path) == total
    regraded = run_program(
        "regrade", "--exercise", EXERCISE, "--gradebook", path, "--student", "student00", "--reason", "appeal"
    )
    assert regraded.returncode == 0, regraded.stderr
    assert rows(path, "SELECT count(*) FROM verdicts WHERE regrade IS NOT NULL") == [(1,)]
    feedback = tmp_path / "feedback"
    exported = run_program("export", path, "--feedback", feedback)
    assert exported.returncode == 0, exported.stderr
    assert len(list(feedback.glob("*/*/trap.txt"))) == 30


@pytest.mark.slow
def test_traps_in_json_lines_are_judged(tmp_path: Path) -> None:
    lines = [
        {"student": "ada", "exercise": EXERCISE, "source": reference(), "trap": PAST},
        {"student": "bob", "exercise": EXERCISE, "trap": TOO_LONG},
    ]
    file, path = tmp_path / "class.jsonl", tmp_path / "class.sqlite"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    done = run_program("batch", file, "--gradebook", path)
    assert done.returncode == 0, done.stderr
    found = rows(path, "SELECT student, outcome, score FROM current_traps ORDER BY 1")
    assert found == [("ada", "caught", 7.0), ("bob", "not_caught", 0.0)]
    assert rows(path, "SELECT student, outcome FROM current") == [("ada", "fixed")]
