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

from grader.errors import KitError, UsageError
from grader.examiner.outcome import Finding, Location, Outcome, Status
from grader.gradebook import Gradebook, Kept
from grader.gradebook import gradebook as book
from grader.verdict.verdict import Result
from tests.support.gradebooks import CLOSED, VERSIONS, content, crash, handed, rows, verdict

NOBODY = 65534


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "class.sqlite"


@pytest.fixture
def gradebook(path):
    with Gradebook(path) as opened:
        opened.begin_batch(5, "class", {"shares": True})
        yield opened


def test_every_part_of_a_verdict_can_be_read_with_sql(gradebook, path):
    gradebook.record(1, handed(), VERSIONS, verdict())
    assert rows(path, "SELECT student, exercise, outcome, score, max_score, remark, seed, seconds FROM current") == [
        ("ada", "exercise_03", "not_fixed", 3.5, 10.0, "a remark", 5, 0.75)
    ]
    assert rows(path, "SELECT defect, status, points, max_points, stretch, reason FROM defects ORDER BY 1") == [
        ("long", "unknown", 0.0, 1.0, 1, "two look alike"),
        ("mask", "fixed", 3.5, 3.5, 0, ""),
    ]
    assert rows(path, "SELECT check_id, status, kind, finding, sizes, explained_by, is_regression FROM checks") == [
        ("values", "passed", None, None, None, None, 0),
        ("shape", "failed", "shape", "expected (2, 3), saw (3, 2)", "from heads=2 on", '["long"]', 1),
    ]
    assert rows(path, "SELECT kit, torch, exercise_version, json_extract(isolation, '$.network') FROM current") == [
        ("0.1.0+kit", "2.13.0", "one", 1)
    ]


def test_a_line_of_the_submission_is_kept_with_the_check_that_saw_it(gradebook, path):
    gradebook.record(1, handed(), VERSIONS, verdict(checks=[crash()]))
    found = rows(path, "SELECT json_extract(location, '$.line'), json_extract(location, '$.text') FROM checks")
    assert found == [(7, "boom()")]


def test_the_newest_verdict_counts_and_the_older_ones_stay(gradebook, path):
    gradebook.record(1, handed(digest="d1"), VERSIONS, verdict(score=1.0))
    gradebook.record(1, handed(digest="d2"), VERSIONS, verdict(score=2.0))
    assert rows(path, "SELECT score FROM current") == [(2.0,)]
    assert rows(path, "SELECT score FROM verdicts ORDER BY id") == [(1.0,), (2.0,)]


@pytest.mark.parametrize("changed", ["kit", "torch", "exercise"])
def test_a_verdict_holds_for_the_versions_it_was_made_with(gradebook, changed):
    gradebook.record(1, handed(fingerprint="f"), VERSIONS, verdict())
    others = structs.replace(VERSIONS, **{changed: "another"})
    assert gradebook.is_judged(handed(), VERSIONS, open_counts=False)
    assert not gradebook.is_judged(handed(), others, open_counts=False)
    for key, value in (("digest", "d1"), ("fingerprint", "f")):
        assert gradebook.judged_alike(key, value, VERSIONS, 5, open_counts=False) == Kept(1, is_bound=False)
        assert gradebook.judged_alike(key, value, others, 5, open_counts=False) is None


def test_a_submission_that_goes_back_to_an_older_state_is_judged_again(gradebook):
    gradebook.record(1, handed(digest="d1"), VERSIONS, verdict())
    gradebook.record(1, handed(digest="d2"), VERSIONS, verdict())
    assert gradebook.is_judged(handed(digest="d2"), VERSIONS, open_counts=False)
    assert not gradebook.is_judged(handed(digest="d1"), VERSIONS, open_counts=False)


def test_another_student_or_exercise_is_another_submission(gradebook):
    gradebook.record(1, handed(), VERSIONS, verdict())
    assert not gradebook.is_judged(handed("bob"), VERSIONS, open_counts=False)
    assert not gradebook.is_judged(handed(exercise="exercise_04"), VERSIONS, open_counts=False)


def test_inputs_drawn_from_another_seed_are_not_shared(gradebook):
    gradebook.record(1, handed(), VERSIONS, verdict(seed=5))
    assert gradebook.judged_alike("digest", "d1", VERSIONS, 6, open_counts=False) is None


@pytest.mark.parametrize("layer", ["filesystem", "network"])
def test_a_verdict_made_in_the_open_counts_only_where_that_is_allowed(gradebook, layer):
    gradebook.record(1, handed(), VERSIONS, verdict(isolation=CLOSED | {layer: False}))
    assert gradebook.is_judged(handed(), VERSIONS, open_counts=True)
    assert not gradebook.is_judged(handed(), VERSIONS, open_counts=False)
    assert gradebook.judged_alike("digest", "d1", VERSIONS, 5, open_counts=True)
    assert gradebook.judged_alike("digest", "d1", VERSIONS, 5, open_counts=False) is None


def test_a_verdict_that_names_lines_or_grades_nothing_holds_for_exact_copies_alone(gradebook):
    gradebook.record(1, handed(digest="d1"), VERSIONS, verdict(checks=[crash()]))
    gradebook.record(1, handed(digest="d2"), VERSIONS, verdict(outcome=Result.NOT_GRADABLE, checks=[]))
    gradebook.record(1, handed(digest="d3"), VERSIONS, verdict())
    bound = [gradebook.judged_alike("digest", f"d{n}", VERSIONS, 5, open_counts=False).is_bound for n in (1, 2, 3)]
    assert bound == [True, True, False]


def test_a_shared_verdict_says_with_whom_and_leads_to_the_checks_of_the_other(gradebook, path):
    gradebook.record(1, handed("ada", fingerprint="f"), VERSIONS, verdict())
    gradebook.record_shared(1, handed("bob", "d2"), VERSIONS, Kept(1, is_bound=False))
    assert rows(path, "SELECT student, score, shared_with, seconds, file FROM current ORDER BY student") == [
        ("ada", 3.5, None, 0.75, "ada/exercise_03/attention.py"),
        ("bob", 3.5, "ada", 0.0, "bob/exercise_03/attention.py"),
    ]
    checks = rows(path, "SELECT student, check_id, status FROM current_checks ORDER BY student, number")
    assert checks[:2] == [("ada", "values", "passed"), ("ada", "shape", "failed")]
    assert [("bob", *check[1:]) for check in checks[:2]] == checks[2:]
    assert rows(path, "SELECT count(*) FROM checks") == [(2,)]
    assert gradebook.is_judged(handed("bob", "d2"), VERSIONS, open_counts=False)
    assert gradebook.judged_alike("digest", "d2", VERSIONS, 5, open_counts=False) is None


def test_what_the_kit_could_not_judge_has_no_score_and_is_tried_again(gradebook, path):
    gradebook.record_not_judged(1, handed(), VERSIONS, 5, "the examiner died")
    assert rows(path, "SELECT outcome, score, reason FROM current") == [("not_judged", None, "the examiner died")]
    assert not gradebook.is_judged(handed(), VERSIONS, open_counts=False)
    assert gradebook.judged_alike("digest", "d1", VERSIONS, 5, open_counts=False) is None


def test_names_and_texts_are_kept_as_they_are(gradebook, path):
    for name in ("=1+1", "a\x00b", "\u202eevil", "'; DROP TABLE verdicts; --", "José 😀", ""):
        gradebook.record(1, handed(name, digest=name), VERSIONS, verdict(reason=f"says {name}"))
        assert (name, f"says {name}") in rows(path, "SELECT student, reason FROM current")


def test_of_a_long_text_the_beginning_is_kept_and_what_is_cut_is_counted(gradebook, path):
    long = "x" * 1_000_000
    finding = Finding(long, long, Location(long, 7, long), long)
    checks = [Outcome("values", Status.CRASHED, finding)]
    gradebook.record(1, handed(), VERSIONS, verdict(reason=long, checks=checks, where=finding))
    kept = "x" * 4000 + " ... (996,000 more characters)"
    assert rows(path, "SELECT kind, finding, sizes, json_extract(location, '$.text') FROM checks") == [(kept,) * 4]
    texts = ", ".join(f"json_extract(seen, '$.{key}')" for key in ("kind", "text", "location.label", "location.line"))
    assert rows(path, f"SELECT reason, {texts} FROM verdicts") == [(kept, kept, kept, kept, 7)]


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
        assert len(list(path.parent.iterdir())) > 1
    assert list(path.parent.iterdir()) == [path]


def test_it_can_be_read_while_a_batch_writes_into_it(gradebook, path):
    gradebook.record(1, handed(), VERSIONS, verdict())
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM current").fetchone() == (1,)
    gradebook.record(1, handed("bob"), VERSIONS, verdict())
    reader.close()
    assert rows(path, "SELECT count(*) FROM current") == [(2,)]


def test_a_second_batch_is_told_to_wait_for_the_first(gradebook, path):
    with pytest.raises(KitError, match=r"class\.sqlite: another batch is running into it; wait for its end"):
        Gradebook(path)
    gradebook.record(1, handed(), VERSIONS, verdict())
    assert rows(path, "SELECT count(*) FROM verdicts") == [(1,)]


def test_the_lock_of_a_batch_that_was_killed_holds_nobody_up(path):
    program = (
        "import os, signal, sys; from pathlib import Path; from grader.gradebook import Gradebook;"
        "book = Gradebook(Path(sys.argv[1])); book.begin_batch(3, 'class', {}); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(path)], timeout=60, check=False)
    assert killed.returncode == -9
    left = {each.name.removeprefix(path.name) for each in path.parent.iterdir()}
    assert left == {"", ".lock", "-wal", "-shm"}
    with Gradebook(path) as gradebook:
        assert gradebook.seed() == 3


def test_another_program_that_holds_the_gradebook_is_named_as_the_reason(gradebook, path):
    gradebook.record(1, handed(), VERSIONS, verdict())
    gradebook._connection.execute("PRAGMA busy_timeout = 100")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(KitError, match=r"class\.sqlite: another program holds it; close that program, then run the"):
        gradebook.record(1, handed("bob"), VERSIONS, verdict())
    other.close()
    gradebook.record(1, handed("bob"), VERSIONS, verdict())
    assert rows(path, "SELECT student FROM current ORDER BY 1") == [("ada",), ("bob",)]


@pytest.mark.parametrize("comes_another", [False, True])
def test_a_gradebook_that_is_moved_away_is_missed_at_once(gradebook, path, comes_another):
    gradebook.record(1, handed(), VERSIONS, verdict())
    path.rename(path.with_name("moved.sqlite"))
    if comes_another:
        path.touch()
    with pytest.raises(KitError, match=r"class\.sqlite was moved or deleted while a batch was running into it; put it"):
        gradebook.record(1, handed("bob"), VERSIONS, verdict())
    path.unlink(missing_ok=True)
    path.with_name("moved.sqlite").rename(path)
    gradebook.record(1, handed("bob"), VERSIONS, verdict())
    assert rows(path, "SELECT student FROM current ORDER BY 1") == [("ada",), ("bob",)]


def test_a_full_disk_is_named_and_costs_no_verdict_that_was_recorded(gradebook, path):
    pages = gradebook._connection.execute("PRAGMA page_count").fetchone()[0]
    gradebook._connection.execute(f"PRAGMA max_page_count = {pages + 4}")
    recorded = 0
    said = ""
    while not said and recorded < 1000:
        try:
            gradebook.record(1, handed(f"student {recorded}"), VERSIONS, verdict())
            recorded += 1
        except KitError as error:
            said = str(error)
    assert f"{path}: the disk is full; make room, then run the same command again" in said
    assert recorded > 0
    counts = "SELECT count(*) FROM current UNION ALL SELECT count(*) FROM checks UNION ALL SELECT count(*) FROM defects"
    assert rows(path, counts) == [(recorded,), (2 * recorded,), (2 * recorded,)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def test_an_interrupt_in_the_middle_of_a_record_leaves_nothing_of_it(gradebook, path, monkeypatch):
    def interrupted(_verdict):
        raise KeyboardInterrupt

    monkeypatch.setattr(book, "check_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gradebook.record(1, handed(), VERSIONS, verdict())
    monkeypatch.undo()
    tables = " UNION ALL ".join(f"SELECT count(*) FROM {t}" for t in ("submissions", "verdicts", "defects", "checks"))
    assert rows(path, tables) == [(0,)] * 4
    gradebook.record(1, handed(), VERSIONS, verdict())
    assert rows(path, "SELECT count(*) FROM current") == [(1,)]


@contextlib.contextmanager
def as_nobody():
    """Without an administrator's rights, which no permission binds."""
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
    with as_nobody(), pytest.raises(KitError, match=r"class\.sqlite: nothing can be written beside it \(Permission"):
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


def test_what_is_no_gradebook_is_refused_and_left_as_it_is(tmp_path):
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
        text: r"notes\.sqlite is no SQLite file, so no gradebook; name another file",
        newer: r"newer\.sqlite was written by a newer version of the kit; use that one",
        tmp_path: r"is a folder; name the gradebook's file, say .*class\.sqlite",
        tmp_path / "none" / "class.sqlite": r"there is no folder .*none for the gradebook; make it first",
    }
    for path, message in wanted.items():
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(UsageError, match=message):
            Gradebook(path)
        assert (path.read_bytes() if path.is_file() else b"") == before
    assert sorted(tmp_path.iterdir()) == sorted([newer, text, other])
