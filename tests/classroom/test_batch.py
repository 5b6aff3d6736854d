"""A class graded into a gradebook: killed, resumed, shared, with hostile submissions, and with the world in the way."""

import contextlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

import pytest

from grader.classroom import display, tasks
from grader.classroom.display import Clock, render_batch
from grader.classroom.gradebook import Gradebook
from grader.classroom.grading import BatchOptions, BatchReport, grade_submissions
from grader.classroom.layouts.files import SkippedFiles, SkippedKind
from grader.classroom.layouts.folders import FolderSubmissions
from grader.classroom.local_engine import local_engine
from grader.classroom.run import CHANGED, Progress
from grader.classroom.tasks import GONE, CourseLocation
from grader.classroom.work import Task, TaskResult
from grader.errors import KitError
from grader.spec.paths import Course
from tests.support.commands import run_program
from tests.support.gradebooks import content, rows
from tests.support.hostile import at_import, descriptors, in_forward, reference, relatives, running_with, starter
from tests.support.paths import HOST, ROOT
from tests.support.sampling import others_slow

EXERCISE = "exercise_03"
SETTLE_SECONDS = 15.0
TIGHT = "limits:\n  seconds: {load: 1.5, check: 1, total: 2}\n  memory_mb: 512\n  output_bytes: 100_000\n"
OUTCOMES = "SELECT student, outcome FROM current ORDER BY student"
EXERCISE_ROW = (EXERCISE, "20", "5", "11", "4", "0", "8", "2.5", "of", "10")
SHARED = "SELECT student, shared_with FROM current ORDER BY student"


def unique(number: int, source: str = "") -> str:
    """A source that no other number has."""
    return f"{source or starter()}\nMINE = {number}\n"


def hand_in(root: Path, sources: dict[str, str], exercise: str = EXERCISE) -> Path:
    for student, source in sources.items():
        path = root / student / exercise / "attention.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def engine(course):
    with local_engine(course, 2, is_strict=True) as running:
        yield running


@pytest.fixture
def grade(course, engine, tmp_path):
    """Grade a folder in this process, over examiners that stay for the next test."""

    def run(root: Path, own: Course = course, name: str = "class.sqlite", **options) -> BatchReport:
        running = local_engine(own, 1, is_strict=True) if own is not course else contextlib.nullcontext(engine)
        return grade_submissions(own, root, tmp_path / name, running, BatchOptions(**options), lambda _: lambda _: None)

    return run


@pytest.fixture
def handed_in(tmp_path):
    """A class in which some differ, some are alike, some copy, and some hand in nonsense."""
    sources = {f"a{number}": unique(number) for number in range(8)}
    sources |= {f"b{number}": reference() for number in range(5)}
    sources |= {f"c{number}": unique(2) for number in range(3)}
    sources |= {"d0": "def (:\n", "d1": "def (:\n", "d2": "", "d3": at_import("os._exit(0)")}
    return hand_in(tmp_path / "class", sources)


def start(*arguments: str, cwd: Path = ROOT) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "grader", "batch", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        text=True,
        stdout=pipe,
        stderr=pipe,
        preexec_fn=_hear_interrupts,  # noqa: PLW1509 - it takes no lock
    )


def _hear_interrupts() -> None:
    """Even where the tests run in the background, which ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def count(path: Path) -> int:
    """How many verdicts the gradebook holds."""
    try:
        return rows(path, "SELECT count(*) FROM verdicts")[0][0]
    except sqlite3.OperationalError:
        return 0  # it does not exist yet


def test_a_class_is_graded_from_the_command_line(tmp_path, handed_in):
    (handed_in / "notes.txt").write_text("x", encoding="utf-8")
    path = tmp_path / "class.sqlite"
    done = run_program("batch", handed_in, "--gradebook", path, "--seed", "3", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "no submission: notes.txt\n" in done.stdout
    counted = "SELECT outcome, count(*), count(shared_with), max(score) FROM current GROUP BY outcome ORDER BY 1"
    assert rows(path, counted) == [("fixed", 5, 4, 10.0), ("not_fixed", 11, 3, 0.0), ("not_gradable", 4, 1, 0.0)]
    assert "12 judged, 8 shared in " in done.stdout
    assert [*EXERCISE_ROW] == next(line for line in done.stdout.splitlines() if line.startswith(EXERCISE)).split()
    assert rows(path, "SELECT DISTINCT seed FROM current") == [(3,)]
    assert rows(path, "SELECT count(*) FROM batches WHERE ended_at IS NOT NULL") == [(1,)]
    kit = rows(path, "SELECT DISTINCT kit, torch FROM current")
    assert len(kit) == 1
    assert kit[0][0].startswith("0.1.0+")


@pytest.mark.slow
def test_a_batch_that_is_killed_again_and_again_ends_with_the_gradebook_of_one_that_is_not(tmp_path, handed_in):
    whole, killed = tmp_path / "whole.sqlite", tmp_path / "killed.sqlite"
    options = (handed_in, "--seed", "3", "--jobs", "2", "--gradebook")
    assert start(*options, whole).wait(120) == 0
    total = count(whole)
    draw = random.Random()
    moments = sorted(draw.sample(range(1, total), 3))
    for moment in moments:
        batch = start(*options, killed)
        wait_for(lambda moment=moment, batch=batch: count(killed) >= moment or batch.poll() is not None)
        time.sleep(draw.random() / 20)
        batch.kill()
        batch.communicate()
    kept = count(killed)
    assert moments[-1] <= kept <= total
    last = start(*options, killed)
    told = last.communicate(timeout=120)[0]
    assert last.returncode == 0
    assert f"{kept} already judged" in told
    assert content(killed) == content(whole)
    assert rows(killed, "SELECT count(*) FROM verdicts") == [(total,)]
    assert rows(killed, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_ends_a_batch_at_once_and_says_how_to_go_on(tmp_path, how):
    hanging = {f"z{number}": at_import(f"time.sleep(1000 + {number})") for number in range(4)}
    root = hand_in(tmp_path / "class", {"a": starter(), **hanging})
    path = tmp_path / "class.sqlite"
    batch = start(root, "--gradebook", path, "--jobs", "2")
    wait_for(lambda: count(path) == 1)
    processes = relatives(batch.pid)
    assert len(processes) >= 4
    started = time.monotonic()
    batch.send_signal(how)
    stdout, stderr = batch.communicate(timeout=30)
    assert time.monotonic() - started < 5
    assert (batch.returncode, stdout) == (130, "")
    told = f"1 judged, 0 shared; the verdicts so far are recorded in {path}; the same command continues from there."
    assert (
        stderr.strip().splitlines()[-1] == f"Interrupted: {told}"
    )  # a line break after the ^C that the terminal shows
    wait_for(lambda: not (running_with(str(ROOT)) & processes), SETTLE_SECONDS)
    assert rows(path, "SELECT student FROM current") == [("a",)]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["class", "class.sqlite"]


def test_nothing_is_graded_twice_and_what_changed_is_graded_again(grade, tmp_path):
    root = hand_in(tmp_path / "class", {"ada": unique(1), "bob": unique(2)})
    path = tmp_path / "class.sqlite"
    assert grade(root).progress.judged == 2
    again = grade(root).progress
    assert (again.judged, again.shared, again.skipped) == (0, 0, 2)
    assert count(path) == 2
    hand_in(root, {"ada": unique(3, reference())})
    changed = grade(root).progress
    assert (changed.judged, changed.skipped) == (1, 1)
    history = "SELECT student, outcome FROM verdicts JOIN submissions ON submission = submissions.id"
    assert rows(path, f"{history} ORDER BY student, verdicts.id") == [
        ("ada", "not_fixed"),
        ("ada", "fixed"),
        ("bob", "not_fixed"),
    ]
    assert rows(path, OUTCOMES) == [("ada", "fixed"), ("bob", "not_fixed")]
    seeds = dict(rows(path, "SELECT id, seed FROM verdicts"))
    assert seeds[1] == seeds[2] != seeds[3]  # the first verdict reveals nothing about the next inputs
    assert rows(path, "SELECT seed FROM batches WHERE id = 3") == [(seeds[1],)]


@pytest.mark.slow
def test_a_changed_exercise_is_graded_again(grade, own_course, tmp_path):
    root = hand_in(tmp_path / "class", {"ada": starter()})
    hand_in(root, {"ada": starter("exercise_06")}, "exercise_06")
    assert grade(root, own_course).progress.judged == 2
    description = own_course.description(EXERCISE)
    description.write_text(description.read_text(encoding="utf-8") + TIGHT, encoding="utf-8")
    report = grade(root, own_course)
    assert (report.progress.judged, report.progress.skipped) == (1, 1)
    hidden = own_course.hidden_tests("exercise_06")
    hidden.mkdir(parents=True, exist_ok=True)
    test = "def test_it_is_there(subject):\n    assert subject is not None\n"
    (hidden / "test_one_more.py").write_text(test, encoding="utf-8")
    report = grade(root, own_course)
    assert (report.progress.judged, report.progress.skipped) == (1, 1)
    versions = "SELECT exercise, count(DISTINCT exercise_version) FROM verdicts"
    versions += " JOIN submissions ON submission = submissions.id GROUP BY exercise"
    assert rows(tmp_path / "class.sqlite", versions) == [("exercise_03", 2), ("exercise_06", 2)]


@pytest.mark.slow
def test_a_mended_typo_regrades_nobody_and_other_points_are_added_up_anew(grade, own_course, tmp_path):
    root = hand_in(tmp_path / "class", {"ada": starter(), "bob": reference(), "cleo": reference()})
    path = tmp_path / "class.sqlite"
    assert grade(root, own_course).progress.judged == 2
    description = own_course.description(EXERCISE)
    text = description.read_text(encoding="utf-8")
    for old, new in (("title: ", "title: Of "), ("hints:\n", "hints:  # three\n"), ("points: 7\n", "points: 5\n")):
        assert old in text
        text = text.replace(old, new, 1)
    description.write_text(text, encoding="utf-8")
    progress = grade(root, own_course).progress
    assert (progress.judged, progress.skipped, progress.rescored) == (0, 3, 3)
    found = "SELECT student, score, max_score FROM current ORDER BY student"
    assert rows(path, found) == [("ada", 0.0, 8.0), ("bob", 8.0, 8.0), ("cleo", 8.0, 8.0)]
    again = grade(root, own_course)
    assert (again.progress.rescored, again.warnings) == (0, [])


@pytest.mark.parametrize(
    ("more", "judged"),
    [
        ("# more\n", 1),
        ("\nlimits: {memory_mb: 900}\n", 2),
    ],
)
@pytest.mark.slow
def test_an_exercise_that_changes_while_the_batch_runs_is_left_for_the_next_run(
    grade, own_course, tmp_path, more, judged
):
    root = hand_in(tmp_path / "class", {"ada": at_import("time.sleep(0.5)"), "bob": unique(1)})
    path = tmp_path / "class.sqlite"
    description = own_course.description(EXERCISE)
    is_changed = threading.Event()

    def change(progress: Progress) -> None:
        """Edit the exercise as soon as one verdict is kept."""
        if progress.judged == 1 and not is_changed.is_set():
            is_changed.set()
            description.write_text(description.read_text(encoding="utf-8") + more, encoding="utf-8")

    with local_engine(own_course, 1, is_strict=True) as running:
        again = contextlib.nullcontext(running)
        report = grade_submissions(own_course, root, path, again, BatchOptions(), lambda _: change)
    assert (report.exit_code(), report.progress.judged, report.progress.left_out) == (1, 1, 1)
    assert report.progress.broken == {EXERCISE: CHANGED}
    assert count(path) == 1
    assert grade(root, own_course).progress.judged == judged  # all of them, if verdicts depend on the change


@pytest.mark.slow
def test_a_changed_kit_grades_again_and_a_reworded_one_grades_nothing(own_course, tmp_path):
    kit = own_course.root / "grader"
    shutil.copytree(ROOT / "grader", kit, ignore=shutil.ignore_patterns("__pycache__"))
    root = hand_in(tmp_path / "handed in", {"ada": starter()})
    path = tmp_path / "class.sqlite"
    runner_comparison_attribution = ("checks/runner.py", "checks/compare.py", "verdict/attribution.py")
    code = 'def _refuse():\n    """Refuse."""\n    raise KeyError("the code is unknown")\n'
    reworded = '# Refuse.\ndef _refuse():\n    """Raise an error."""\n    raise KeyError("no such code")\n'
    printed = []
    for modules, addition in (
        (runner_comparison_attribution, code),
        (runner_comparison_attribution, reworded),
        (["report/console.py"], code),
        (["verdict/verdict.py"], code),
    ):
        for module in modules:
            text = (kit / module).read_text(encoding="utf-8").replace(code, "")
            (kit / module).write_text(text + addition, encoding="utf-8")
        batch = start(root, "--gradebook", path, "--jobs", "1", cwd=own_course.root)
        printed += re.findall(r"^(\d+ judged.*?) in ", batch.communicate(timeout=120)[0], re.MULTILINE)
    nothing = "0 judged, 0 shared, 1 already judged"
    assert printed == ["1 judged, 0 shared", nothing, nothing, "1 judged, 0 shared"]
    assert rows(path, "SELECT count(DISTINCT kit), count(*) FROM verdicts") == [(2, 2)]


@pytest.mark.slow
def test_equal_submissions_are_judged_once_even_while_the_first_is_being_judged(grade, tmp_path):
    slow = at_import("time.sleep(0.5)", reference())
    root = hand_in(tmp_path / "class", {f"s{number}": slow for number in range(12)})
    progress = grade(root).progress
    assert (progress.judged, progress.shared) == (1, 11)
    assert rows(tmp_path / "class.sqlite", SHARED) == sorted(
        (f"s{number}", None if number == 0 else "s0") for number in range(12)
    )


def test_no_share_judges_each(grade, tmp_path):
    root = hand_in(tmp_path / "class", {f"s{number}": starter() for number in range(4)})
    progress = grade(root, shares=False).progress
    assert (progress.judged, progress.shared) == (4, 0)
    assert rows(tmp_path / "class.sqlite", "SELECT count(shared_with), count(DISTINCT seconds) FROM verdicts") == [
        (0, 4)
    ]


def test_a_verdict_that_names_a_line_is_shared_by_exact_copies_alone(grade, tmp_path):
    crashing = in_forward("raise ValueError('mine')")
    sources = {f"s{number}": crashing for number in range(3)} | {"t": "\n\n" + crashing}
    grade(hand_in(tmp_path / "class", sources))
    path = tmp_path / "class.sqlite"
    assert rows(path, SHARED) == [("s0", None), ("s1", "s0"), ("s2", "s0"), ("t", None)]
    line = "json_extract(details, '$.location.line')"
    found = dict(rows(path, f"SELECT DISTINCT student, {line} FROM current_checks WHERE {line} IS NOT NULL"))
    assert found["s0"] == found["s1"] == found["s2"] == found["t"] - 2


def test_the_same_source_for_two_exercises_is_judged_by_each(grade, tmp_path):
    root = hand_in(tmp_path / "class", {"ada": reference()})
    hand_in(root, {"ada": reference()}, "exercise_05")
    progress = grade(root).progress
    assert (progress.judged, progress.shared) == (2, 0)


READS_ITSELF = {
    "code": 'LINE = int("{0.__code__.co_firstlineno}".format(lambda: 0))',
    "frame": """
import sys
LINE = int("{0.f_lineno}".format(sys.__dict__["_get" + "frame"]()))""",
    "warning": """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("x")
LINE = int("{0.lineno}".format(caught[0]))""",
    "logged traceback": """
import io, logging, re
text = io.StringIO()
log = logging.getLogger("mine")
log.addHandler(logging.StreamHandler(text))
try:
    raise ValueError
except ValueError:
    log.exception("x")
LINE = int(re.search(r"line (\\d+)", text.getvalue())[1])""",
}
"""Sources that find out one of their line numbers."""


@pytest.mark.parametrize("trick", others_slow(READS_ITSELF))
def test_no_twin_that_differs_in_lines_alone_shares_a_right_verdict(grade, tmp_path, trick):
    """One syntax tree in two layouts: with one of the parities the first is right, and its twin is wrong."""
    texts = {}
    for parity in (0, 1):
        ending = f"if LINE % 2 == {parity}:\n    del CausalSelfAttention.forward\n"
        text = f"{READS_ITSELF[trick]}\n{reference()}\n{ending}"
        texts |= {f"a{parity}": text, f"b{parity}": f"\n{text}", f"c{parity}": text}
    grade(hand_in(tmp_path / "class", texts))
    path = tmp_path / "class.sqlite"
    assert dict(rows(path, SHARED)) == dict.fromkeys(texts) | {"c0": "a0", "c1": "a1"}
    scores = dict(rows(path, "SELECT student, score FROM current"))
    for parity in (0, 1):
        assert {scores[f"a{parity}"], scores[f"b{parity}"]} == {0.0, 10.0}


def test_a_notebook_and_a_module_with_the_same_tree_have_the_same_grade(grade, course, tmp_path):
    root = hand_in(tmp_path / "class", {"ada": starter()})
    (root / "bob").mkdir()
    shutil.copy(course.pristine(course.editable_files(EXERCISE)[1]), root / "bob" / f"{EXERCISE}.ipynb")
    grade(root)
    assert len(set(rows(tmp_path / "class.sqlite", "SELECT outcome, score FROM current"))) == 1


@pytest.mark.slow
def test_hostile_submissions_cost_only_themselves(grade, own_course, tmp_path):
    description = own_course.description(EXERCISE)
    description.write_text(description.read_text(encoding="utf-8") + TIGHT, encoding="utf-8")
    sources = {
        "good": reference(),
        "hangs at import": at_import("while True: pass"),
        "hangs in forward": in_forward("while True: pass"),
        "dies at import": at_import("os.kill(os.getpid(), 9)"),
        "dies in forward": in_forward("ctypes.string_at(0)"),
        "floods": at_import("while True: os.write(1, b'x' * 100_000)"),
        "fills memory": at_import("hoard = [bytearray(1 << 20) for _ in range(100_000)]"),
        "forks": at_import("[os.fork() for _ in range(3)]"),
        "is deep": "x = " + "(" * 5000 + ")" * 5000,
        "is long": "# " + "x" * 1_000_001,
        "zero": "\0",
        "zz good": unique(1, reference()),
    }
    before = descriptors()
    progress = grade(hand_in(tmp_path / "class", sources), own_course).progress
    assert (progress.judged, progress.not_judged) == (len(sources), 0)
    found = dict(rows(tmp_path / "class.sqlite", OUTCOMES))
    fixed = {student for student, outcome in found.items() if outcome == "fixed"}
    assert fixed == {"good", "zz good"}
    assert {found[student] for student in ("hangs in forward", "dies in forward")} == {"not_fixed"}
    scores = rows(tmp_path / "class.sqlite", "SELECT max(score) FROM current WHERE outcome <> 'fixed'")
    assert scores == [(0.0,)]
    wait_for(lambda: len(descriptors()) <= len(before), SETTLE_SECONDS)


@contextlib.contextmanager
def killing(course: Course, path: Path, *, verdicts: int, times: int):
    """An engine of one examiner that is killed so often, once the gradebook holds so many verdicts."""
    is_over = threading.Event()

    def kill() -> None:
        wait_for(lambda: count(path) == verdicts or is_over.is_set())
        wait_for(lambda: len(tasks._pool._lent) == 1 or is_over.is_set())
        time.sleep(0.3)  # the examiner has turned to the next submission
        (examiner,) = tasks._pool._lent
        killed = []
        while len(killed) < times and not is_over.is_set():
            process = examiner._process
            if process is not None and process.pid not in killed:
                os.kill(process.pid, signal.SIGKILL)
                killed.append(process.pid)
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    with local_engine(course, 1, is_strict=True) as running:
        killer.start()
        try:
            yield contextlib.nullcontext(running)
        finally:
            is_over.set()
            killer.join()


@pytest.mark.slow
def test_a_submission_that_ends_its_examiner_twice_is_not_judged_and_the_batch_goes_on(grade, course, tmp_path):
    hanging = at_import("time.sleep(1000)")
    root = hand_in(tmp_path / "class", {"a": unique(1), "m": hanging, "z": unique(2)})
    path = tmp_path / "class.sqlite"
    with killing(course, path, verdicts=1, times=2) as engine:
        report = grade_submissions(course, root, path, engine, BatchOptions(), lambda _: lambda _: None)
    assert report.exit_code() == 1
    assert rows(path, OUTCOMES) == [("a", "not_fixed"), ("m", "not_judged"), ("z", "not_fixed")]
    assert "died twice" in rows(path, "SELECT reason FROM current WHERE student = 'm'")[0][0]
    hand_in(root, {"m": unique(3)})
    report = grade(root)
    assert (report.exit_code(), report.progress.judged, report.progress.skipped) == (0, 1, 2)


@pytest.mark.slow
def test_a_batch_that_loses_every_submission_stops(course, tmp_path):
    hanging = {f"m{number:02}": at_import(f"time.sleep({number} + 1000)") for number in range(30)}
    root = hand_in(tmp_path / "class", {"a": unique(1)} | hanging)
    path = tmp_path / "class.sqlite"
    with (
        pytest.raises(KitError, match=r"the last 20 submissions could not be judged: the examiner process died twice"),
        killing(course, path, verdicts=1, times=1000) as engine,
    ):
        grade_submissions(course, root, path, engine, BatchOptions(shares=False), lambda _: lambda _: None)
    assert rows(path, "SELECT outcome, count(*) FROM current GROUP BY 1") == [("not_fixed", 1), ("not_judged", 20)]


@pytest.mark.slow
def test_a_submission_that_vanishes_after_it_was_listed_is_recorded_as_not_judged(grade, tmp_path, monkeypatch):
    root = hand_in(tmp_path / "class", {"a": unique(1), "b": unique(2), "c": unique(3)})
    listed = FolderSubmissions.__iter__

    def vanishing(folder):
        """A folder that someone tidies up at the same time."""
        entries = list(listed(folder))
        (root / "b" / EXERCISE / "attention.py").unlink(missing_ok=True)
        return iter(entries)

    monkeypatch.setattr(FolderSubmissions, "__iter__", vanishing)
    report = grade(root)
    assert (report.exit_code(), report.progress.judged, report.progress.not_judged) == (1, 2, 1)
    found = rows(tmp_path / "class.sqlite", "SELECT outcome, reason FROM current ORDER BY student")
    assert found == [("not_fixed", None), ("not_judged", GONE.reason), ("not_fixed", None)]


@pytest.mark.slow
def test_a_broken_exercise_is_said_once_and_leaves_the_others_alone(own_course, tmp_path):
    sources = {f"s{number}": unique(number) for number in range(3)}
    root = hand_in(tmp_path / "class", sources)
    hand_in(root, sources, "exercise_05")
    hand_in(root, sources, "exercise_06")
    fault = own_course.description("exercise_05")
    fault.write_text(fault.read_text(encoding="utf-8").replace("title:", "titel:", 1), encoding="utf-8")
    own_course.reference("exercise_06").write_text(starter("exercise_06"), encoding="utf-8")
    path = tmp_path / "class.sqlite"
    batch = start(root, "--gradebook", path, cwd=own_course.root)
    told, errors = batch.communicate(timeout=120)
    assert batch.returncode == 1
    assert all("verdicts a second" in line for line in errors.splitlines())  # a slow machine gets lines of progress
    for exercise in ("exercise_05", "exercise_06"):
        assert " ".join(told.split()).count(f"{exercise} is left out: ") == 1
    assert re.search(r"^3 judged, 0 shared, 6 left out in ", told, re.MULTILINE)
    assert rows(path, "SELECT exercise, count(*) FROM current GROUP BY 1") == [(EXERCISE, 3)]


@pytest.mark.slow
def test_where_files_are_open_nothing_is_graded_unless_that_is_allowed(tmp_path):
    root = hand_in(tmp_path / "class", {"ada": reference()})
    path = tmp_path / "class.sqlite"
    host = [sys.executable, str(HOST), "--without", "landlock,namespaces", "--"]
    command = [*host, sys.executable, "-m", "grader", "batch", str(root), "--gradebook", str(path), "--jobs", "1"]
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode == 3, refused.stderr
    assert "submissions could reach the file system of this host" in refused.stderr
    assert "--allow-open grades all the same" in refused.stderr
    assert count(path) == 0
    allowed = subprocess.run([*command, "--allow-open"], cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert allowed.returncode == 0
    found = "SELECT outcome, json_extract(isolation, '$.filesystem') FROM current"
    assert rows(path, found) == [("fixed", 0)]
    assert start(root, "--gradebook", path, "--jobs", "1").wait(120) == 0
    assert rows(path, found) == [("fixed", 1)]


@pytest.mark.slow
def test_a_full_disk_ends_a_batch_with_one_sentence_and_keeps_what_was_judged(tmp_path, handed_in):
    disk = tmp_path / "disk"
    disk.mkdir()
    path = disk / "class.sqlite"
    command = [sys.executable, "-m", "grader", "batch", handed_in, "--gradebook", path, "--jobs", "2", "--no-share"]
    out = tmp_path / "kept"
    script = 'mount -t tmpfs -o size=180k full "$1" || exit 99; "${@:3}"; status=$?; cp "$1"/* "$2"; exit $status'
    out.mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script, "bash", disk, out, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode in (1, 99) and "judged" not in done.stdout:
        pytest.skip("this host does not allow mounting a small tmpfs in a namespace of one's own")
    assert done.returncode == 3
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(rf"grader: {path}: the disk .*; free some space.*; the verdicts so far are stored", last)
    kept = out / "class.sqlite"
    assert 0 < count(kept) < 20
    assert rows(kept, "PRAGMA integrity_check") == [("ok",)]


def test_a_second_batch_into_the_same_gradebook_is_told_to_wait(tmp_path, handed_in):
    path = tmp_path / "class.sqlite"
    with Gradebook(path):
        done = run_program("batch", handed_in, "--gradebook", path)
    assert (done.returncode, done.stdout) == (3, "")
    wait = "another batch or regrade is writing to it; wait until it ends, then run this again"
    assert done.stderr == f"grader: {path}: {wait}\n"


def test_contradictory_options_exit_with_2(tmp_path):
    empty = tmp_path / "empty"
    (empty / "ada").mkdir(parents=True)
    (empty / "notes.txt").write_text("x", encoding="utf-8")
    path = tmp_path / "class.sqlite"
    for arguments, message in (
        ([empty, "--gradebook", path], "there is no submission in"),
        ([tmp_path / "none", "--gradebook", path], "does not exist"),
        ([empty, "--gradebook", tmp_path], "is a folder; name the gradebook's file"),
        ([empty], "Missing option '--gradebook'"),
        ([empty, "--gradebook", path, "--jobs", "0"], "Invalid value for '--jobs'"),
    ):
        done = run_program("batch", *arguments)
        assert done.returncode == 2, arguments
        assert message in done.stderr
        assert "Traceback" not in done.stderr
    assert "no submission: notes.txt" in run_program("batch", empty, "--gradebook", path).stderr


def test_invalid_lines_are_reported_and_the_others_graded(tmp_path):
    path = tmp_path / "all.jsonl"
    good = [json.dumps({"student": f"s{n}", "exercise": EXERCISE, "source": starter()}) for n in range(3)]
    path.write_text("\n".join([good[0], "{", *good[1:]]) + "\n", encoding="utf-8")
    done = run_program("batch", path, "--gradebook", tmp_path / "class.sqlite", "--jobs", "1")
    assert done.returncode == 1
    assert "a broken line: all.jsonl, line 2: " in done.stdout
    assert rows(tmp_path / "class.sqlite", SHARED) == [("s0", None), ("s1", "s0"), ("s2", "s0")]
    assert rows(tmp_path / "class.sqlite", "SELECT file FROM current LIMIT 1") == [("all.jsonl, line 1",)]


class Distant:
    """An engine whose tasks and results travel to another process and back."""

    width, is_strict, memory_bytes = 1, True, 0

    def __init__(self, course: Course, pool: ProcessPoolExecutor) -> None:
        self._location, self._pool = CourseLocation(root=str(course.root), is_strict=True), pool

    def judge(self, task: Task) -> Future[TaskResult]:
        return self._pool.submit(tasks.judge, self._location, task)


@pytest.mark.slow
def test_work_takes_and_gives_records_that_may_travel(course, tmp_path):
    root = hand_in(tmp_path / "class", {"ada": reference(), "bob": reference(), "cleo": "def (:"})
    path = tmp_path / "class.sqlite"
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        engine = contextlib.nullcontext(Distant(course, pool))
        report = grade_submissions(course, root, path, engine, BatchOptions(), lambda _: lambda _: None)
    assert (report.progress.judged, report.progress.shared) == (2, 1)
    assert rows(path, OUTCOMES) == [("ada", "fixed"), ("bob", "fixed"), ("cleo", "not_gradable")]


def test_a_log_gets_plain_lines_and_a_terminal_a_bar(monkeypatch):
    monkeypatch.setattr(display, "LINE_SECONDS", 0.0)
    lines: list[str] = []
    with display.Display(Path("class.sqlite"), lines.append, is_terminal=False) as shown:
        advance = shown.show(10)
        advance(Progress())
        time.sleep(0.1)
        advance(Progress(position=5, judged=3, shared=1, skipped=1))
    first, second = lines
    assert first == "0%: 0 judged, 0 shared; 0.0 verdicts a second"
    told = r"50%: 3 judged, 1 shared, 1 already judged; [\d.]+ verdicts a second, 0\.\d s left"
    assert re.fullmatch(told, second)


def test_the_counts_of_a_batch_fit_into_a_narrow_terminal():
    row = ("exercise_03", 1_234, 1_000, 200, 34, 0, 0, 7.25, 10.0)
    report = BatchReport(progress=Progress(judged=1_234), skipped=SkippedFiles(), totals=[row])
    text = render_batch(report, Clock(), "class.sqlite", width=60, color=False)
    table = text[: text.index("1,234 judged")]
    assert table == (
        "                                   not       not       mean\n"
        "exercise     submissions  fixed  fixed  gradable      score\n"
        "exercise_03        1,234  1,000    200        34  7.2 of 10\n"
        "\n"
        "Nothing to show in: not judged, shared\n"
    )


def test_names_are_shown_as_visible_text_without_markup():
    report = BatchReport(
        progress=Progress(judged=1, broken={EXERCISE: "\x1b[31m[red]wrong"}), skipped=SkippedFiles(), totals=[]
    )
    report.skipped.add(SkippedKind.STRAY, "[bold]\x1b[2J\u202ename")
    text = render_batch(report, Clock(), "class.sqlite", width=200, color=False)
    assert "no submission: [bold]\\x1b[2J\\u202ename\n" in text
    assert "\\x1b[31m[red]wrong\n" in text
    assert "\x1b" not in text
