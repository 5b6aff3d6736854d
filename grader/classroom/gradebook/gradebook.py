"""The gradebook: a SQLite file with every verdict of a class. Each verdict is recorded in its own transaction."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from grader.checks.outcome import FailureKind, Status
from grader.classroom.gradebook.connection import GradebookConnection
from grader.classroom.gradebook.rows import (
    Regrade,
    Student,
    SubmissionRecord,
    Versions,
    WorkKind,
    as_json,
    check_pages,
    check_rows,
    defect_rows,
    time_text,
    trap_defect_rows,
    trap_result_columns,
    trap_verdict_columns,
    verdict_columns,
)
from grader.classroom.gradebook.schema import ATTEMPTS
from grader.errors import UsageError
from grader.trap.result import TrapOutcome, TrapResult
from grader.verdict.verdict import Result, Verdict

NOT_JUDGED = Result.NOT_JUDGED.value
"""The outcome of a submission that the kit could not grade. The next run tries again."""

UNDECIDED = (Status.TIMED_OUT, Status.NOT_RUN)
"""Statuses that a busy machine can cause, so that their verdicts are not shared."""

EQUAL = (
    "SELECT id FROM verdicts WHERE digest = ? AND exercise_version = ? AND kit = ?"
    " AND torch = ? AND seed = ? AND is_closed >= ? AND id > ? AND outcome <> ? AND shared_with IS NULL"
    f" AND NOT EXISTS (SELECT 1 FROM checks WHERE verdict = verdicts.id AND status IN {tuple(map(str, UNDECIDED))})"
    " AND NOT EXISTS (SELECT 1 FROM traps WHERE verdict = verdicts.id AND depends_on_time)"
    f" AND coalesce(json_extract(unloadable, '$.kind'), '') <> '{FailureKind.LOAD}' ORDER BY id LIMIT 1"
)
COPIED = "outcome, score, max_score, reason, unloadable, near_miss, seed, isolation, is_closed"
"""The columns that a shared verdict takes from the original."""

OWN = "submission = (SELECT id FROM submissions WHERE student = ? AND exercise = ? AND kind = ?)"
"""The condition for the verdicts on a submission; its values are those of `_key`."""


class Gradebook(GradebookConnection):
    """A gradebook that a batch writes to."""

    def __init__(self, path: Path) -> None:
        """Open or create the file. Raise `UsageError` if it cannot be a gradebook."""
        super().__init__(path, writes=True)

    def _prepare(self, *, writes: bool) -> None:
        super()._prepare(writes=writes)
        check_pages(self._connection)

    def seed(self) -> int | None:
        """Return the seed of the first batch, which later batches keep, or None in a new gradebook."""
        row = self.row("SELECT seed FROM batches ORDER BY id LIMIT 1")
        return None if row is None else int(row[0])

    def begin_batch(self, seed: int, submissions: str, options: dict[str, Any]) -> int:
        """Record that a batch starts. Return its id."""
        with self.transaction() as connection:
            started = {"seed": seed, "submissions": submissions, "options": as_json(options), "started_at": time_text()}
            return _insert(connection, "batches", started)

    def end_batch(self, batch: int) -> None:
        """Record that a batch has processed all submissions."""
        with self.transaction() as connection:
            connection.execute("UPDATE batches SET ended_at = ? WHERE id = ?", (time_text(), batch))

    def enroll(self, students: list[Student]) -> None:
        """Replace the enrolled students by the students of a roster."""
        with self.transaction() as connection:
            connection.execute("UPDATE students SET is_enrolled = 0")
            rows = [(each.id, each.name, each.group, as_json(each.columns), each.is_enrolled) for each in students]
            connection.executemany("INSERT OR REPLACE INTO students VALUES (?, ?, ?, ?, ?)", rows)

    def enrolled(self) -> list[Student]:
        """Return the students of the last roster."""
        found = self.rows("SELECT student, name, class_group, columns FROM students WHERE is_enrolled ORDER BY student")
        decode = msgspec.json.Decoder(dict[str, str]).decode
        return [
            Student(
                id=row["student"],
                name=row["name"],
                group=row["class_group"],
                columns=decode(row["columns"]),
                is_enrolled=True,
            )
            for row in found
        ]

    def name_student(self, student: Student) -> None:
        """Store the name that a layout gives a student who is in no roster."""
        if self.row("SELECT 1 FROM students WHERE student = ?", student.id) is None:
            with self.transaction() as connection:
                row = (student.id, student.name, student.group, as_json(student.columns), student.is_enrolled)
                connection.execute("INSERT INTO students VALUES (?, ?, ?, ?, ?)", row)

    def is_judged(self, submission: SubmissionRecord, versions: Versions, *, accepts_open: bool) -> bool:
        """Return whether the submission's newest verdict is on this source and was made with this exercise, kit and
        torch.

        A verdict that was made while files or network were open counts only if `accepts_open`. A verdict that a regrade
        cancelled does not count.
        """
        row = self.row(
            "SELECT digest, kit, torch, exercise_version, outcome, is_closed, id"
            f" FROM verdicts WHERE {OWN} ORDER BY id DESC LIMIT 1",
            *_key(submission),
        )
        if row is None or row["outcome"] == NOT_JUDGED or not (row["is_closed"] or accepts_open):
            return False
        recorded = Versions(kit=row["kit"], torch=row["torch"], exercise=row["exercise_version"])
        is_regraded = row["id"] <= self.last_regrade(submission).after_verdict
        return not is_regraded and row["digest"] == submission.digest and recorded == versions

    def attempt(self, submission: SubmissionRecord) -> int:
        """Return how many attempts at the exercise the student made before this one."""
        key = _key(submission)
        last = self.row(f"SELECT digest FROM verdicts WHERE {OWN} ORDER BY id DESC LIMIT 1", *key)
        (attempts,) = self.row(ATTEMPTS.format(OWN), *key) or (0,)
        return attempts - (last is not None and last["digest"] == submission.digest)

    def find_equal(
        self, submission: SubmissionRecord, versions: Versions, seed: int, *, accepts_open: bool
    ) -> int | None:
        """Return the id of the first verdict on the same source with equal versions, or None.

        A verdict with a timeout, or of a submission that did not finish loading, is not shared: a busy machine may be
        the cause. The digest of a trap differs from that of a module.
        """
        parameters = (submission.digest, versions.exercise, versions.kit, versions.torch, seed, not accepts_open)
        row = self.row(EQUAL, *parameters, self.last_regrade(submission).after_verdict, NOT_JUDGED)
        return None if row is None else int(row["id"])

    def last_regrade(self, submission: SubmissionRecord) -> Regrade:
        """Return the last regrade of the submission; one without an id if there was none."""
        row = self.row(
            "SELECT after_verdict, id FROM regrades WHERE exercise = ? AND (student IS NULL OR student = ?)"
            " ORDER BY id DESC LIMIT 1",
            submission.exercise,
            submission.student,
        )
        return Regrade() if row is None else Regrade(id=row["id"], after_verdict=row["after_verdict"])

    def request_regrade(self, exercise: str, student: str | None, reason: str) -> int:
        """Cancel the verdicts on an exercise, so that the next batch grades its submissions again.

        Return the number of submissions. Raise `UsageError` if there are none.
        """
        where = "exercise = ? AND student = coalesce(?, student)"
        row = self.row(f"SELECT count(*) FROM submissions WHERE {where}", exercise, student)
        if row is None or not row[0]:
            description = exercise if student is None else f"{exercise} by {student}"
            raise UsageError(f"{self.path} has no verdict on {description}; find names with history or export")
        last = self.row("SELECT coalesce(max(id), 0) FROM verdicts") or (0,)
        columns = {"requested_at": time_text(), "exercise": exercise, "student": student, "reason": reason}
        with self.transaction() as connection:
            _insert(connection, "regrades", {**columns, "after_verdict": last[0]})
        return int(row[0])

    def record(
        self,
        batch: int,
        submission: SubmissionRecord,
        versions: Versions,
        verdict: Verdict,
        numbers: Mapping[str, int] = {},
    ) -> int:
        """Record a verdict with its defects, under their `numbers` if given, and its checks. Return its id."""
        with self.transaction() as connection:
            columns = self._about(connection, batch, submission, versions) | verdict_columns(verdict)
            row = _insert(connection, "verdicts", columns)
            _insert_all(connection, "defects", row, defect_rows(verdict, numbers))
            _insert_all(connection, "checks", row, check_rows(verdict))
            return row

    def record_trap(self, batch: int, trap: SubmissionRecord, versions: Versions, result: TrapResult) -> int:
        """Record the result of a trap as its verdict. Return its id."""
        with self.transaction() as connection:
            columns = self._about(connection, batch, trap, versions) | trap_verdict_columns(result)
            row = _insert(connection, "verdicts", columns)
            _insert_all(connection, "traps", row, [trap_result_columns(result)])
            _insert_all(connection, "trap_defects", row, trap_defect_rows(result))
            return row

    def record_shared(self, batch: int, submission: SubmissionRecord, versions: Versions, shared: int) -> None:
        """Record the verdict of another submission for this one too."""
        with self.transaction() as connection:
            own = self._about(connection, batch, submission, versions) | {"seconds": 0.0, "shared_with": shared}
            copied = connection.execute(
                f"INSERT INTO verdicts ({', '.join(own)}, {COPIED})"
                f" SELECT {', '.join('?' * len(own))}, {COPIED} FROM verdicts WHERE id = ?",
                (*own.values(), shared),
            )
            _new_row(copied)

    def record_not_judged(
        self, batch: int, submission: SubmissionRecord, versions: Versions, seed: int, reason: str
    ) -> None:
        """Record that the kit could not grade a submission, with the reason."""
        with self.transaction() as connection:
            about = self._about(connection, batch, submission, versions)
            _insert(connection, "verdicts", about | {"outcome": NOT_JUDGED, "reason": reason, "seed": seed})

    def totals(self) -> list[sqlite3.Row]:
        """Return a row for each exercise: id, submissions, a count of each outcome, shared, mean score and points."""
        results = ", ".join(f"sum(outcome = '{result}')" for result in Result)
        return list(
            self.rows(
                f"SELECT exercise, count(*), {results}, count(shared_with), avg(score), max(max_score)"
                " FROM current GROUP BY exercise ORDER BY length(exercise), exercise"
            )
        )

    def trap_totals(self) -> list[sqlite3.Row]:
        """Return a row for each exercise with traps: id, traps, those that caught everything, mean score and points."""
        return list(
            self.rows(
                f"SELECT exercise, count(*), sum(outcome = '{TrapOutcome.CAUGHT}'), avg(score), max(max_score)"
                " FROM current_traps GROUP BY exercise ORDER BY length(exercise), exercise"
            )
        )

    def _about(
        self, connection: sqlite3.Connection, batch: int, submission: SubmissionRecord, versions: Versions
    ) -> dict[str, Any]:
        """Return the columns that every verdict has."""
        return {
            "submission": _submission_id(connection, submission),
            "batch": batch,
            "file": submission.file,
            "digest": submission.digest,
            "remark": submission.remark,
            "exercise_version": versions.exercise,
            "kit": versions.kit,
            "torch": versions.torch,
            "judged_at": time_text(),
            "regrade": self.last_regrade(submission).id,
        }


def _submission_id(connection: sqlite3.Connection, submission: SubmissionRecord) -> int:
    """Return the id of the row for a student's submissions to an exercise. Store the time of the last submission."""
    key = _key(submission)
    row = connection.execute(
        "SELECT id, submitted_at FROM submissions WHERE student = ? AND exercise = ? AND kind = ?", key
    ).fetchone()
    if row is None:
        columns = {"student": key[0], "exercise": key[1], "kind": key[2], "submitted_at": submission.submitted_at}
        return _insert(connection, "submissions", columns)
    if submission.submitted_at and row[1] != submission.submitted_at:
        connection.execute("UPDATE submissions SET submitted_at = ? WHERE id = ?", (submission.submitted_at, row[0]))
    return int(row[0])


def _key(submission: SubmissionRecord) -> tuple[str, str, WorkKind]:
    return submission.student, submission.exercise, submission.kind


def _insert(connection: sqlite3.Connection, table: str, columns: dict[str, Any]) -> int:
    """Add a row and return its id."""
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    return _new_row(connection.execute(statement, tuple(columns.values())))


def _new_row(inserted: sqlite3.Cursor) -> int:
    """Return the id of the row that a statement added."""
    if inserted.rowcount != 1 or inserted.lastrowid is None:
        raise RuntimeError("a row was not added to the gradebook")
    return inserted.lastrowid


def _insert_all(connection: sqlite3.Connection, table: str, verdict: int, rows: list[dict[str, Any]]) -> None:
    """Add rows that belong to a verdict."""
    for row in rows:
        _insert(connection, table, {"verdict": verdict, **row})
