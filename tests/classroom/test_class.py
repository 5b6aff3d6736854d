"""A class through a term: a roster, a regrade, a verdict that should not have been shared, too little memory."""

import contextlib
import os
import threading
import time
from concurrent.futures import Future

import pytest

from grader.classroom import tasks, work
from grader.classroom.engines import EngineKind
from grader.classroom.gradebook import SubmissionRecord, Versions, WorkKind
from grader.classroom.grading import BatchOptions, grade_submissions
from grader.classroom.local_engine import local_engine, machine_memory
from grader.classroom.opening import LayoutOptions
from grader.classroom.work import WORK, Task, TaskResult
from grader.errors import UsageError
from grader.submission import submission_from_text
from tests.support.gradebooks import rows, verdict
from tests.support.hostile import reference, starter

EXERCISE = "exercise_03"


def hand_in(root, sources):
    for name, source in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return root


def task_of(exercise):
    record = SubmissionRecord(student="ada", exercise=exercise, file="attention.py", digest="")
    versions = Versions(kit="", torch="", exercise="")
    return Task(record=record, versions=versions, submission=submission_from_text(""), seed=0)


def test_an_examiner_goes_on_with_the_exercises_that_it_has_begun(course, monkeypatch):
    """Two would each open all of them otherwise, which takes as long as judging."""
    began = set()

    def judge(_location, task):
        began.add((threading.get_ident(), task.record.exercise))
        time.sleep(0.01)
        return task.record.exercise

    monkeypatch.setattr(tasks, "judge", judge)
    wanted = [f"exercise_{number % 6:02}" for number in range(60)]
    with local_engine(course, 2, is_strict=True) as running:
        given = [running.judge(task_of(exercise)) for exercise in wanted]
        assert [each.result() for each in given] == wanted
    assert len({thread for thread, _ in began}) == 2
    assert len(began) <= 6 + 2  # at the end, an idle examiner takes the exercise of another


def test_one_exercise_alone_keeps_all_examiners_busy_and_what_it_raises_is_raised(course, monkeypatch):
    meeting = threading.Barrier(2, timeout=20)

    def judge(_location, _task):
        meeting.wait()
        raise ValueError("both came")

    monkeypatch.setattr(tasks, "judge", judge)
    with local_engine(course, 2, is_strict=True) as running:
        for each in [running.judge(task_of(EXERCISE)) for _ in range(4)]:
            with pytest.raises(ValueError, match="both came"):
                each.result()


@pytest.mark.slow
def test_a_term_of_a_class_with_a_roster_and_a_regrade(run_cli, tmp_path):
    canvas = {"smithjane_123_9001": reference(), "bo_124_9002": starter(), "zed_9_1": ""}
    handed_in = hand_in(tmp_path / "class", {f"{name}_attention.py": text for name, text in canvas.items()})
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name,group\nm1,Jane Smith,A\n124,Bo Li,A\nm3,Cy Kim,B\n", encoding="utf-8")
    book = tmp_path / "class.sqlite"
    options = ("--gradebook", book, "--jobs", "1")
    done = run_cli("batch", handed_in, *options, "--exercise", EXERCISE, "--roster", roster)
    assert done.returncode == 0, done.stderr
    assert "layout: canvas" in done.stdout
    assert "not in the roster: 9; graded all the same" in done.stdout
    assert rows(book, "SELECT student, outcome FROM current ORDER BY 1") == [
        ("124", "not_fixed"),
        ("9", "not_gradable"),
        ("m1", "fixed"),
    ]
    assert rows(book, "SELECT student, name, is_enrolled FROM students ORDER BY 1") == [
        ("124", "Bo Li", 1),
        ("9", "zed", 0),
        ("m1", "Jane Smith", 1),
        ("m3", "Cy Kim", 1),
    ]
    again = run_cli("batch", handed_in, *options, "--exercise", EXERCISE, "--seed", "5")
    assert "--seed has no effect on the 3 already graded; to judge them again, use regrade" in again.stdout
    regraded = run_cli("regrade", *options, "--exercise", "3", "--student", "m1", "--reason", "the mask check was off")
    assert regraded.returncode == 0, regraded.stderr
    assert "Grading 1 submission for exercise_03 again: the mask check was off" in regraded.stdout
    assert "1 judged, 0 shared, 2 already judged" in regraded.stdout
    told = run_cli("history", "Jane Smith", "--gradebook", book, columns=160).stdout
    assert told.count("fixed") == 2
    assert told.count("regraded: the mask check was off") == 1
    assert "has handed in nothing" in run_cli("history", "m3", "--gradebook", book).stdout
    for arguments, message in (
        (("history", "nobody", "--gradebook", book), "there is no student 'nobody'"),
        (("history", "m1", "--gradebook", tmp_path / "none.sqlite"), "there is no gradebook"),
        (
            ("regrade", *options, "--exercise", "3", "--student", "x", "--reason", ""),
            "no verdict on exercise_03 by x",
        ),
        (("regrade", *options, "--exercise", "4", "--reason", "y"), "has no verdict on exercise_04"),
        (("regrade", *options, "--exercise", "3", "--reason", "y", "--scheduler", "x"), "add --engine dask"),
    ):
        refused = run_cli(*arguments)
        assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr
    assert rows(book, "SELECT count(*) FROM regrades") == [(1,)]
    handed_in.rename(tmp_path / "moved")
    lost = run_cli("regrade", *options, "--exercise", "3", "--reason", "again")
    assert (lost.returncode, "give their folder with --submissions" in lost.stderr) == (2, True)


class Deceived:
    """An engine that judges nothing, and finds that odd submissions fail."""

    width, is_strict, memory_bytes = 1, True, 0

    def judge(self, task):
        is_odd = "odd" in task.submission.chunks[0].text
        own = verdict(seed=task.seed, checks=verdict().checks[is_odd:])
        future = Future()
        future.set_result(TaskResult(verdict=own))
        return future


@pytest.mark.slow
def test_a_regrade_shares_no_verdicts_if_requested_now_or_in_the_batch(run_cli, tmp_path):
    root = hand_in(tmp_path / "class", {f"{name}/{EXERCISE}.py": starter() for name in ("a", "b")})
    options = ("--gradebook", tmp_path / "class.sqlite", "--jobs", "1")
    assert "1 judged, 1 shared" in run_cli("batch", root, *options).stdout
    again = ("regrade", *options, "--exercise", "3", "--reason", "an alarm")
    assert "2 judged, 0 shared" in run_cli(*again, "--no-share").stdout
    assert "2 judged, 0 shared" in run_cli(*again).stdout
    unshared = ("--gradebook", tmp_path / "unshared.sqlite", "--jobs", "1")
    run_cli("batch", root, *unshared, "--no-share")
    one = run_cli("regrade", *unshared, "--exercise", "3", "--reason", "an alarm", "--student", "a").stdout
    assert "1 judged, 0 shared, 1 already judged" in one
    assert "has no effect" not in one


class Losing(Deceived):
    """An engine that judges the starter, and no submission that is called lost."""

    def judge(self, task):
        future = super().judge(task)
        if "lost" in task.submission.chunks[0].text:
            future = Future()
            future.set_result(TaskResult(error="its examiner died twice"))
        return future


@pytest.mark.parametrize("is_copied", [True, False])
def test_submissions_after_many_that_cannot_be_judged_are_still_judged(course, tmp_path, monkeypatch, is_copied):
    monkeypatch.setattr(work, "verdict_with_points", lambda given, _exercise: given)
    texts = {f"a{number:02}": f"lost = {0 if is_copied else number}\n" for number in range(25)} | {"z": "x = 1\n"}
    root = hand_in(tmp_path / "class", {f"{name}/{EXERCISE}.py": text for name, text in texts.items()})
    path = tmp_path / "class.sqlite"
    options = BatchOptions(shares=is_copied)
    report = grade_submissions(course, root, path, contextlib.nullcontext(Losing()), options, lambda _: lambda _: None)
    assert (report.progress.not_judged, report.progress.judged) == (25, 1)


def test_seeds_of_resubmissions_and_of_traps_differ_and_cannot_be_derived_without_the_key():
    resubmitted = {(kind, attempt) for kind in WorkKind for attempt in range(1, 100)}
    derived = {*resubmitted, (WorkKind.TRAP, 0)}  # a test of a trap can tell its seed
    seeds = {tasks.seed_of_attempt(key, 5, *each) for key in ("one", "two") for each in derived}
    assert len(seeds - {5}) == 2 * len(derived)
    assert tasks.seed_of_attempt("one", 5, WorkKind.MODULE, 0) == 5


def test_an_exercises_versions_are_computed_once_until_its_files_change(own_course, monkeypatch):
    asked = []
    monkeypatch.setattr(work, "exercise_digest", lambda course, name: asked.append(name) or f"{len(asked)}" * 12)
    module = WORK[WorkKind.MODULE]
    first = [module.versions(own_course, EXERCISE) for _ in range(3)]
    description = own_course.description(EXERCISE)
    description.write_text(description.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
    assert [each.exercise[0] for each in (*first, module.versions(own_course, EXERCISE))] == ["1", "1", "1", "2"]


def test_a_starter_that_is_missing_is_named_by_its_path(own_course):
    own_course.pristine(own_course.editable_files(EXERCISE)[0]).unlink()
    told = tasks.starter_task(own_course, EXERCISE, WORK[WorkKind.MODULE].versions(own_course, EXERCISE))
    assert told.error == (
        "its starter exercises/exercise_03/.starter/attention.py cannot be judged:"
        " there is no file attention.py; check the path"
    )


@pytest.mark.slow
def test_too_little_memory_for_the_jobs_is_reported_before_anything_is_judged(course, tmp_path):
    with local_engine(course, 1, is_strict=True) as running:
        assert 0 < running.memory_bytes == machine_memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        running.width, running.memory_bytes = 3, 4 << 30
        told = []
        root = hand_in(tmp_path / "class", {f"ada/{EXERCISE}.py": "def (:"})
        arguments = (course, root, tmp_path / "class.sqlite", contextlib.nullcontext(running), BatchOptions())
        grade_submissions(*arguments, lambda _: lambda _: None, told.append)
    assert told[0].startswith("3 submissions at once may use 6.0 GB together, and this machine has 4.0: a submission")


def test_a_layout_that_holds_nothing_says_what_it_looked_for(course, tmp_path):
    root = hand_in(tmp_path / "class", {f"ada/{EXERCISE}.py": "x"})
    engine = contextlib.nullcontext(Deceived())
    options = BatchOptions(layout=LayoutOptions(name="canvas"))
    with pytest.raises(UsageError, match=r"there is no submission in .*\n  no submission: ada"):
        grade_submissions(course, root, tmp_path / "c.sqlite", engine, options, lambda _: lambda _: None)
    with pytest.raises(UsageError, match="none does not exist"):
        grade_submissions(
            course, tmp_path / "none", tmp_path / "c.sqlite", engine, BatchOptions(), lambda _: lambda _: None
        )
    assert not (tmp_path / "c.sqlite").exists()  # a gradebook would keep its first seed


def test_the_commands_offer_every_engine(run_cli):
    for command in ("batch", "regrade"):
        assert f"--engine [{'|'.join(EngineKind)}]" in run_cli(command, "--help").stdout
