"""The gradebook: what it keeps, what it refuses, and what it says when the disk or another program is in the way."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from msgspec import structs

from grader.checks.outcome import (
    Diagnosis,
    DiagnosisKind,
    FailureKind,
    Finding,
    Location,
    Outcome,
    Status,
)
from grader.classroom.gradebook import Gradebook, Student
from grader.classroom.gradebook import gradebook as book
from grader.classroom.gradebook.class_records import ClassRecords, student_history
from grader.classroom.regrade import rescore
from grader.errors import KitError, UsageError
from grader.spec.loading import load_exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result
from tests.support.gradebooks import CLOSED, VERSIONS, content, crash, rows, submission, verdict
from tests.support.paths import ROOT

NOBODY = 65534
DETAILS = ("details", "unloadable")


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "class.sqlite"


@pytest.fixture
def gradebook(path):
    with Gradebook(path) as opened:
        opened.begin_batch(5, "class", {"shares": True})
        yield opened


def test_every_part_of_a_verdict_can_be_read_with_sql(gradebook, path):
    gradebook.record(1, submission(), VERSIONS, verdict())
    assert rows(path, "SELECT student, exercise, outcome, score, max_score, remark, seed, seconds FROM current") == [
        ("ada", "exercise_03", "not_fixed", 3.5, 10.0, "a remark", 5, 0.75)
    ]
    assert rows(path, "SELECT defect, status, points, max_points, stretch, reason FROM defects ORDER BY 1") == [
        ("long", "unknown", 0.0, 1.0, 1, '{"kind":"fails-differently","check":"shape"}'),
        ("mask", "fixed", 3.5, 3.5, 0, None),
    ]
    details = "json_extract(details, '$.kind'), json_extract(details, '$.sizes.failed.heads')"
    assert rows(path, f"SELECT check_id, status, finding, {details}, explained_by, is_regression FROM checks") == [
        ("values", "passed", None, None, None, None, 0),
        ("shape", "failed", "expected (2, 3), saw (3, 2)", "shape", 2, '["long"]', 1),
    ]
    assert rows(path, "SELECT kit, torch, exercise_version, json_extract(isolation, '$.network') FROM current") == [
        ("0.1.0+kit", "2.13.0", "one", 1)
    ]


def test_a_verdict_is_read_back_as_it_was_recorded(gradebook, path):
    """Also for a student who shares it. Only pictures and printed lines are not stored."""
    diagnosis = Diagnosis(kind=DiagnosisKind.ROW_FACTORS, numbers=[0.5, 2.0])
    finding = structs.replace(crash().finding, diagnosis=diagnosis, size_case={"heads": 2})
    outcome = Outcome(check="values", status=Status.FAILED, finding=finding, advice="name both lengths")
    recorded = verdict(checks=[outcome, *verdict().checks], near_miss="one-head")
    printing = structs.replace(finding, printed="a line")
    with_output = structs.replace(recorded, checks=[structs.replace(outcome, finding=printing), *verdict().checks])
    first = gradebook.record(1, submission("ada"), VERSIONS, with_output)
    gradebook.record_shared(1, submission("bob", "d2"), VERSIONS, first)
    defects = [structs.replace(each, number=0) for each in recorded.defects]
    with ClassRecords(path) as records:
        found = {grade.student: records.verdict(grade) for grade in records.grades()}
    assert found["ada"] == structs.replace(recorded, defects=defects)
    assert (found["bob"].checks, found["bob"].near_miss) == (recorded.checks, "one-head")


def test_a_line_of_the_submission_is_kept_with_the_check_that_saw_it(gradebook, path):
    gradebook.record(1, submission(), VERSIONS, verdict(checks=[crash()]))
    texts = ", ".join(f"json_extract(details, '$.location.{field}')" for field in ("line", "text"))
    found = rows(path, f"SELECT {texts} FROM checks")
    assert found == [(7, "boom()")]


def test_the_newest_verdict_counts_and_the_older_ones_stay(gradebook, path):
    gradebook.record(1, submission(digest="d1"), VERSIONS, verdict(score=1.0))
    gradebook.record(1, submission(digest="d2"), VERSIONS, verdict(score=2.0))
    assert rows(path, "SELECT score FROM current") == [(2.0,)]
    assert rows(path, "SELECT score FROM verdicts ORDER BY id") == [(1.0,), (2.0,)]


@pytest.mark.parametrize("changed", ["kit", "torch", "exercise"])
def test_a_verdict_holds_for_the_versions_it_was_made_with(gradebook, changed):
    gradebook.record(1, submission(), VERSIONS, verdict())
    others = structs.replace(VERSIONS, **{changed: "another"})
    assert gradebook.is_judged(submission(), VERSIONS, accepts_open=False)
    assert not gradebook.is_judged(submission(), others, accepts_open=False)
    assert gradebook.find_equal(submission(), VERSIONS, 5, accepts_open=False) == 1
    assert gradebook.find_equal(submission(), others, 5, accepts_open=False) is None


def test_a_submission_that_goes_back_to_an_older_state_is_judged_again(gradebook):
    gradebook.record(1, submission(digest="d1"), VERSIONS, verdict())
    gradebook.record(1, submission(digest="d2"), VERSIONS, verdict())
    assert gradebook.is_judged(submission(digest="d2"), VERSIONS, accepts_open=False)
    assert not gradebook.is_judged(submission(digest="d1"), VERSIONS, accepts_open=False)


def test_another_student_or_exercise_is_another_submission(gradebook):
    gradebook.record(1, submission(), VERSIONS, verdict())
    assert not gradebook.is_judged(submission("bob"), VERSIONS, accepts_open=False)
    assert not gradebook.is_judged(submission(exercise="exercise_04"), VERSIONS, accepts_open=False)


def test_inputs_drawn_from_another_seed_are_not_shared(gradebook):
    gradebook.record(1, submission(), VERSIONS, verdict(seed=5))
    assert gradebook.find_equal(submission(digest="d1"), VERSIONS, 6, accepts_open=False) is None


@pytest.mark.parametrize("layer", ["filesystem", "network"])
def test_a_verdict_made_in_the_open_counts_only_where_that_is_allowed(gradebook, layer):
    gradebook.record(1, submission(), VERSIONS, verdict(isolation=CLOSED | {layer: False}))
    assert gradebook.is_judged(submission(), VERSIONS, accepts_open=True)
    assert not gradebook.is_judged(submission(), VERSIONS, accepts_open=False)
    assert gradebook.find_equal(submission(digest="d1"), VERSIONS, 5, accepts_open=True)
    assert gradebook.find_equal(submission(digest="d1"), VERSIONS, 5, accepts_open=False) is None


def test_a_shared_verdict_says_with_whom_and_leads_to_the_checks_of_the_other(gradebook, path):
    gradebook.record(1, submission("ada"), VERSIONS, verdict())
    gradebook.record_shared(1, submission("bob", "d2"), VERSIONS, 1)
    assert rows(path, "SELECT student, score, shared_with, seconds, file FROM current ORDER BY student") == [
        ("ada", 3.5, None, 0.75, "ada/exercise_03/attention.py"),
        ("bob", 3.5, "ada", 0.0, "bob/exercise_03/attention.py"),
    ]
    checks = rows(path, "SELECT student, check_id, status FROM current_checks ORDER BY student, number")
    assert checks[:2] == [("ada", "values", "passed"), ("ada", "shape", "failed")]
    assert [("bob", *check[1:]) for check in checks[:2]] == checks[2:]
    assert rows(path, "SELECT count(*) FROM checks") == [(2,)]
    assert gradebook.is_judged(submission("bob", "d2"), VERSIONS, accepts_open=False)
    assert gradebook.find_equal(submission(digest="d2"), VERSIONS, 5, accepts_open=False) is None


def test_what_the_kit_could_not_judge_has_no_score_and_is_tried_again(gradebook, path):
    gradebook.record_not_judged(1, submission(), VERSIONS, 5, "the examiner died")
    assert rows(path, "SELECT outcome, score, reason FROM current") == [("not_judged", None, "the examiner died")]
    assert not gradebook.is_judged(submission(), VERSIONS, accepts_open=False)
    assert gradebook.find_equal(submission(digest="d1"), VERSIONS, 5, accepts_open=False) is None


def test_names_and_texts_are_kept_as_they_are(gradebook, path):
    for name in ("=1+1", "a\x00b", "\u202eevil", "'; DROP TABLE verdicts; --", "José 😀", ""):
        gradebook.record(1, submission(name, digest=name), VERSIONS, verdict(reason=f"says {name}"))
        assert (name, f"says {name}") in rows(path, "SELECT student, reason FROM current")


def test_a_long_text_is_stored_as_its_beginning_and_the_number_of_omitted_characters(gradebook, path):
    long = "x" * 1_000_000
    finding = Finding(
        kind=FailureKind.OTHER,
        detail=long,
        message=long,
        location=Location(label=long, line=7, text=long),
    )
    checks = [Outcome(check="values", status=Status.CRASHED, finding=finding)]
    gradebook.record(1, submission(), VERSIONS, verdict(reason=long, checks=checks, unloadable=finding))
    kept = "x" * 4000 + " ... (996,000 more characters)"
    keys = ("detail", "message", "location.label", "location.text")
    texts = {column: ", ".join(f"json_extract({column}, '$.{key}')" for key in keys) for column in DETAILS}
    assert rows(path, f"SELECT finding, {texts['details']} FROM checks") == [(kept,) * 5]
    assert rows(path, f"SELECT reason, {texts['unloadable']} FROM verdicts") == [(kept,) * 5]


def test_a_gradebook_keeps_to_the_seed_of_its_first_batch(path):
    with Gradebook(path) as first:
        assert first.seed() is None
        first.begin_batch(11, "class", {})
    with Gradebook(path) as second:
        assert second.seed() == 11
        second.begin_batch(12, "class", {})
        assert second.seed() == 11


def test_nothing_but_the_gradebook_is_left_when_it_is_closed(path):
    with Gradebook(path) as gradebook:
        gradebook.begin_batch(1, "class", {})
        assert len(list(path.parent.iterdir())) > 2
    assert list(path.parent.iterdir()) == [path]


def test_it_can_be_read_while_a_batch_writes_into_it(gradebook, path):
    gradebook.record(1, submission(), VERSIONS, verdict())
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM current").fetchone() == (1,)
    gradebook.record(1, submission("bob"), VERSIONS, verdict())
    reader.close()
    assert rows(path, "SELECT count(*) FROM current") == [(2,)]


def test_a_second_batch_is_told_to_wait_for_the_first(gradebook, path):
    with pytest.raises(KitError, match=r"class\.sqlite: another batch or regrade is writing to it; wait until it ends"):
        Gradebook(path)
    gradebook.record(1, submission(), VERSIONS, verdict())
    assert rows(path, "SELECT count(*) FROM verdicts") == [(1,)]


def test_the_lock_of_a_batch_that_was_killed_holds_nobody_up(path):
    program = (
        "import os, signal, sys; from pathlib import Path; from grader.classroom.gradebook import Gradebook;"
        "book = Gradebook(Path(sys.argv[1])); book.begin_batch(3, 'class', {}); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(path)], timeout=60, check=False)
    assert killed.returncode == -9
    left = {each.name.removeprefix(path.name) for each in path.parent.iterdir()}
    assert left == {"", ".lock", "-wal", "-shm"}
    with Gradebook(path) as gradebook:
        assert gradebook.seed() == 3


def test_another_program_that_holds_the_gradebook_is_named_as_the_reason(gradebook, path):
    gradebook.record(1, submission(), VERSIONS, verdict())
    gradebook._connection.execute("PRAGMA busy_timeout = 100")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(KitError, match=r"class\.sqlite: another program has it open; close that program, then run the"):
        gradebook.record(1, submission("bob"), VERSIONS, verdict())
    other.close()
    gradebook.record(1, submission("bob"), VERSIONS, verdict())
    assert rows(path, "SELECT student FROM current ORDER BY 1") == [("ada",), ("bob",)]


@pytest.mark.parametrize("comes_another", [False, True])
def test_a_gradebook_that_is_moved_away_is_missed_at_once(gradebook, path, comes_another):
    gradebook.record(1, submission(), VERSIONS, verdict())
    path.rename(path.with_name("moved.sqlite"))
    if comes_another:
        path.touch()
    with pytest.raises(KitError, match=r"class\.sqlite was moved or deleted meanwhile; move it"):
        gradebook.record(1, submission("bob"), VERSIONS, verdict())
    path.unlink(missing_ok=True)
    path.with_name("moved.sqlite").rename(path)
    gradebook.record(1, submission("bob"), VERSIONS, verdict())
    assert rows(path, "SELECT student FROM current ORDER BY 1") == [("ada",), ("bob",)]


def test_a_full_disk_is_named_and_costs_no_verdict_that_was_recorded(gradebook, path):
    pages = gradebook._connection.execute("PRAGMA page_count").fetchone()[0]
    gradebook._connection.execute(f"PRAGMA max_page_count = {pages + 4}")
    recorded = 0
    said = ""
    while not said and recorded < 1000:
        try:
            gradebook.record(1, submission(f"student {recorded}"), VERSIONS, verdict())
            recorded += 1
        except KitError as error:
            said = str(error)
    assert f"{path}: the disk is full; free some space, then run the same command again" in said
    assert recorded > 0
    counts = "SELECT count(*) FROM current UNION ALL SELECT count(*) FROM checks UNION ALL SELECT count(*) FROM defects"
    assert rows(path, counts) == [(recorded,), (2 * recorded,), (2 * recorded,)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def test_an_interrupt_in_the_middle_of_a_record_leaves_nothing_of_it(gradebook, path, monkeypatch):
    def interrupted(_verdict):
        raise KeyboardInterrupt

    monkeypatch.setattr(book, "check_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gradebook.record(1, submission(), VERSIONS, verdict())
    monkeypatch.undo()
    tables = " UNION ALL ".join(f"SELECT count(*) FROM {t}" for t in ("submissions", "verdicts", "defects", "checks"))
    assert rows(path, tables) == [(0,)] * 4
    gradebook.record(1, submission(), VERSIONS, verdict())
    assert rows(path, "SELECT count(*) FROM current") == [(1,)]


@contextlib.contextmanager
def as_nobody():
    """Without root's rights, which ignore permissions."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder():
    """A folder whose parents everyone may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_is_named(open_folder):
    path = open_folder / "class.sqlite"
    open_folder.chmod(0o555)
    with as_nobody(), pytest.raises(KitError, match=r"class\.sqlite: no file can be created beside it \(Permission"):
        Gradebook(path)
    assert list(open_folder.iterdir()) == []


def test_a_gradebook_that_cannot_be_written_is_named(open_folder):
    path = open_folder / "class.sqlite"
    with Gradebook(path) as gradebook:
        gradebook.begin_batch(1, "class", {})
    before = content(path)
    path.chmod(0o444)
    open_folder.chmod(0o777)
    with (
        as_nobody(),
        pytest.raises(KitError, match=r"class\.sqlite: it or its folder is read-only; allow writing"),
        Gradebook(path) as gradebook,
    ):
        gradebook.begin_batch(2, "class", {})
    assert content(path) == before


def test_a_file_that_is_not_a_gradebook_is_refused_and_unchanged(tmp_path):
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE grades (a)")
    connection.close()
    text = tmp_path / "notes.sqlite"
    text.write_text("these are notes, and long enough that they might be taken for a database\n" * 20, encoding="utf-8")
    newer = tmp_path / "newer.sqlite"
    Gradebook(newer).close()
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    wanted = {
        other: r"other\.sqlite is another program's SQLite file, not a gradebook; name another file",
        text: r"notes\.sqlite is not a SQLite file, so it is not a gradebook; name another file",
        newer: r"newer\.sqlite was written by another version of the kit; grade into",
        tmp_path: r"is a folder; name the gradebook's file, such as .*class\.sqlite",
        tmp_path / "none" / "class.sqlite": r"there is no folder .*none for the gradebook; create it first",
    }
    for path, message in wanted.items():
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(UsageError, match=message):
            Gradebook(path)
        assert (path.read_bytes() if path.is_file() else b"") == before
    assert sorted(tmp_path.iterdir()) == sorted([newer, text, other])


def test_a_folder_in_the_place_of_the_lock_is_named(path):
    Path(f"{path}.lock").mkdir()
    with pytest.raises(KitError, match=r"class\.sqlite\.lock is a folder, but the gradebook's lock must be"):
        Gradebook(path)
    assert not path.exists()


def test_a_disk_without_room_for_the_lock_is_named(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    program = (
        "import sys; from pathlib import Path; from grader.errors import KitError\n"
        "from grader.classroom.gradebook import Gradebook\n"
        "try: Gradebook(Path(sys.argv[1]))\n"
        "except KitError as error: print(error)"
    )
    script = 'mount -t tmpfs -o nr_inodes=1 full "$1" || exit 99; exec "${@:2}"'
    command = ["unshare", "--mount", "bash", "-c", script, "bash", disk, sys.executable, "-c", program]
    done = subprocess.run(
        [*command, disk / "class.sqlite"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode in (1, 99) and not done.stdout:
        pytest.skip("this host does not allow mounting a small tmpfs in a namespace of one's own")
    assert done.stdout.strip().endswith(
        "class.sqlite: no file can be created beside it (No space left on device); check its folder"
    )


def test_a_gradebook_reached_by_a_link_is_the_one_that_it_leads_to(path, tmp_path):
    link = tmp_path / "link.sqlite"
    Gradebook(path).close()
    link.symlink_to(path)
    with Gradebook(link) as gradebook:
        gradebook.begin_batch(5, "class", {})
        with pytest.raises(KitError, match="another batch or regrade"):
            Gradebook(path)
    assert link.is_symlink()
    assert rows(path, "SELECT seed FROM batches") == [(5,)]


def test_a_pipe_is_no_gradebook_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is a pipe or a device; name a file for the gradebook"):
        Gradebook(tmp_path / "pipe")
    assert [(each.name, each.is_fifo()) for each in tmp_path.iterdir()] == [("pipe", True)]


@pytest.mark.parametrize("name", ["class.csv", "class.CSV", "class.xlsx"])
def test_a_gradebook_name_with_another_formats_suffix_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match=rf"a gradebook is a SQLite file, and {name} names another kind of file; name"):
        Gradebook(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_gradebook_of_another_version_is_refused(path):
    Gradebook(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 3")
    for opened in (Gradebook, ClassRecords):
        with pytest.raises(UsageError, match="was written by another version of the kit; grade into a new gradebook"):
            opened(path)


def test_bytes_lost_in_the_file_are_noticed(path):
    with Gradebook(path) as gradebook:
        gradebook.begin_batch(5, "class", {})
        for number in range(200):
            gradebook.record(1, submission(f"student {number}"), VERSIONS, verdict())
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4096] = bytes(4096)
    path.write_bytes(content)
    for _ in range(2):  # works twice: the lock was released
        with pytest.raises(KitError, match=r"class\.sqlite: it is damaged; restore a copy$"):
            Gradebook(path)
    assert not Path(f"{path}.lock").exists()


@pytest.mark.slow
def test_an_error_while_reading_does_not_suggest_running_a_batch_again(gradebook, path):
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    gradebook.close()
    holder.execute("PRAGMA journal_mode = DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(KitError, match=r"class\.sqlite: another program has it open; close that program$"):
        ClassRecords(path)
    holder.close()


def test_sharing_a_verdict_that_no_longer_exists_records_nothing(gradebook, path):
    gradebook.record(1, submission("ada"), VERSIONS, verdict())
    with pytest.raises(RuntimeError, match="a row was not added"):
        gradebook.record_shared(1, submission("bob"), VERSIONS, 999)
    assert rows(path, "SELECT student FROM submissions") == [("ada",)]


def test_points_that_change_are_counted_anew_without_judging(gradebook, path, course):
    exercise = load_exercise(course.description("exercise_03"))
    ids = [defect.id for defect in exercise.defects]
    half = [
        DefectVerdict(id=ids[0], status=DefectStatus.FIXED, points=7.0, max_points=7.0, stretch=False),
        DefectVerdict(id=ids[1], status=DefectStatus.PRESENT, points=0.0, max_points=1.0, stretch=True),
    ]
    whole = [structs.replace(each, status=DefectStatus.FIXED, points=each.max_points) for each in half]
    rescore(gradebook, exercise, "one")
    gradebook.record(1, submission("ada"), VERSIONS, verdict(defects=half))
    gradebook.record(1, submission("bob", "d2"), VERSIONS, verdict(defects=whole, outcome=Result.FIXED, score=10.0))
    gradebook.record_shared(1, submission("cleo", "d2"), VERSIONS, 2)
    gradebook.record_not_judged(1, submission("dan"), VERSIONS, 5, "died")
    assert rescore(gradebook, exercise, "one") == 0
    points = [structs.replace(defect, points=worth) for defect, worth in zip(exercise.defects, (5.0, 2.0), strict=True)]
    exercise = structs.replace(exercise, defects=points, nothing_else_broke=1.0)
    assert rescore(gradebook, exercise, "another version") == 0
    assert rescore(gradebook, exercise, "one") == 4
    assert rows(path, "SELECT student, score, max_score FROM current ORDER BY 1") == [
        ("ada", 5.0, 6.0),
        ("bob", 6.0, 6.0),
        ("cleo", 6.0, 6.0),
        ("dan", None, None),
    ]
    found = "SELECT number, points, max_points FROM current_defects WHERE student = 'ada' ORDER BY 1"
    assert rows(path, found) == [(1, 5.0, 5.0), (2, 0.0, 2.0)]
    assert rows(path, "SELECT count(*) FROM verdicts") == [(4,)]


def test_a_regrade_puts_verdicts_out_of_force_until_they_are_judged_again(gradebook, path):
    for name in ("ada", "bob"):
        gradebook.record(1, submission(name), VERSIONS, verdict())
    assert gradebook.request_regrade("exercise_03", "ada", "the check was wrong") == 1
    assert not gradebook.is_judged(submission("ada"), VERSIONS, accepts_open=False)
    assert gradebook.is_judged(submission("bob"), VERSIONS, accepts_open=False)
    assert gradebook.find_equal(submission("ada"), VERSIONS, 5, accepts_open=False) is None
    gradebook.record(1, submission("ada"), VERSIONS, verdict())
    assert gradebook.is_judged(submission("ada"), VERSIONS, accepts_open=False)
    assert gradebook.request_regrade("exercise_03", None, "again") == 2
    assert not gradebook.is_judged(submission("bob"), VERSIONS, accepts_open=False)
    why = "SELECT verdicts.id, regrades.reason FROM verdicts LEFT JOIN regrades ON regrades.id = regrade ORDER BY 1"
    assert rows(path, why) == [(1, None), (2, None), (3, "the check was wrong")]
    with pytest.raises(UsageError, match="has no verdict on exercise_03 by eve; find names with history"):
        gradebook.request_regrade("exercise_03", "eve", "")


def test_the_history_of_a_name_that_two_students_have_asks_for_an_id(gradebook, path):
    for name in ("s1", "s2"):
        gradebook.record(1, submission(name), VERSIONS, verdict())
        gradebook.enroll([Student(id=name, name="Anna Schmidt", group="", columns={}, is_enrolled=True)])
    with pytest.raises(UsageError, match="2 students are called 'Anna Schmidt'; give one of their ids: s1, s2"):
        student_history(path, "Anna Schmidt")
    assert len(student_history(path, "s2")) == 1


def test_attempts_count_the_other_sources_a_student_handed_in_before(gradebook):
    assert gradebook.attempt(submission(digest="d1")) == 0
    for digest, before in (("d1", 0), ("d1", 0), ("d2", 1), ("d1", 2), ("d1", 2), ("d3", 3)):
        assert gradebook.attempt(submission(digest=digest)) == before
        gradebook.record(1, submission(digest=digest), VERSIONS, verdict())
    assert gradebook.attempt(submission("bob", "d9")) == 0


@pytest.mark.parametrize("status", [Status.TIMED_OUT, Status.NOT_RUN])
def test_a_verdict_of_a_busy_machine_is_shared_with_no_copy(gradebook, status):
    late = Outcome(check="shape", status=status, finding=Finding(kind=FailureKind.TIMEOUT, message="it was stopped"))
    gradebook.record(1, submission(), VERSIONS, verdict(checks=[verdict().checks[0], late]))
    unloaded = {
        "unloadable": Finding(kind=FailureKind.LOAD, message="it was stopped while it was loading"),
        "checks": [],
    }
    gradebook.record(1, submission("bob", "d2"), VERSIONS, verdict(outcome=Result.NOT_GRADABLE, **unloaded))
    gradebook.record(1, submission("cleo", "d3"), VERSIONS, verdict(checks=[crash()]))
    for digest in ("d1", "d2"):
        assert gradebook.find_equal(submission(digest=digest), VERSIONS, 5, accepts_open=False) is None
    assert gradebook.find_equal(submission(digest="d3"), VERSIONS, 5, accepts_open=False) is not None


def test_wrong_values_are_counted_by_their_sentence_although_the_findings_differ_in_lines_and_sizes(gradebook, path):
    finding = crash().finding
    for student, line in (("ada", 7), ("bob", 8), ("cleo", 8)):
        own = structs.replace(
            finding, location=structs.replace(finding.location, line=line), size_case={"tokens": line}
        )
        checks = [structs.replace(crash(), finding=own)]
        causes = {"values": ["mask"]}
        gradebook.record(1, submission(student), VERSIONS, verdict(checks=checks, causes=causes))
    with ClassRecords(path) as records:
        assert records.wrong_values("exercise_03", "mask", 3) == [("boom", 3)]
        assert records.wrong_values("exercise_03", "long", 3) == []
