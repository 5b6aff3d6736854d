"""The gradebook: a SQLite file that holds every verdict of a class, each recorded in a transaction of its own."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from grader.checks.outcome import Status
from grader.classroom.gradebook.connection import GradebookConnection
from grader.classroom.gradebook.rows import (
    SharedVerdict,
    Student,
    SubmissionRecord,
    Versions,
    as_json,
    check_pages,
    check_rows,
    damaged_verdicts,
    defect_rows,
    time_text,
    verdict_columns,
    write_checksum,
)
from grader.errors import UsageError
from grader.verdict.verdict import Result, Verdict

NOT_JUDGED = "not_judged"
"""The outcome of a submission that the kit could not judge; the next run tries again."""

UNDECIDED = (Status.TIMED_OUT, Status.NOT_RUN)
"""How a check ends that says nothing of what is computed."""

Likeness = Literal["digest", "fingerprint"]

ALIKE = (
    "SELECT id, is_bound FROM verdicts INDEXED BY same_{key} WHERE {key} = ? AND exercise_version = ? AND kit = ?"
    " AND torch = ? AND seed = ? AND is_closed >= ? AND id > ? AND outcome <> ? AND shared_with IS NULL"
    f" AND NOT EXISTS (SELECT 1 FROM checks WHERE verdict = verdicts.id AND status IN {tuple(map(str, UNDECIDED))})"
    " AND coalesce(json_extract(seen, '$.kind'), '') <> 'load' ORDER BY id"
)
COPIED = "outcome, score, max_score, reason, seen, seed, isolation, is_closed, is_bound, fingerprint"
"""The columns that a shared verdict has from the one it shares."""


class Gradebook(GradebookConnection):
    """A gradebook that a batch writes to."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. `UsageError` where it cannot be a gradebook."""
        super().__init__(path, writes=True)

    def _prepare(self, *, writes: bool) -> None:
        super()._prepare(writes=writes)
        check_pages(self._connection)
        self.damaged = damaged_verdicts(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def seed(self) -> int | None:
        """The seed of the first batch, which the following ones keep to; None in a new gradebook."""
        row = self.row("SELECT seed FROM batches ORDER BY id LIMIT 1")
        return None if row is None else int(row[0])

    def begin_batch(self, seed: int, submissions: str, options: dict[str, Any]) -> int:
        """Record that a batch starts; its id."""
        with self.transaction() as connection:
            started = {"seed": seed, "submissions": submissions, "options": as_json(options), "started_at": time_text()}
            return _insert(connection, "batches", started)

    def end_batch(self, batch: int) -> None:
        """Record that it has gone through all submissions."""
        with self.transaction() as connection:
            connection.execute("UPDATE batches SET ended_at = ? WHERE id = ?", (time_text(), batch))

    def damage(self) -> list[str]:
        """What was lost or changed since it was recorded; it is judged again where it can be."""
        lines = []
        for verdict in sorted(self.damaged):
            row = self.row("SELECT student, exercise FROM current WHERE ? IN (verdict, seen_in)", verdict)
            whose = f"verdict {verdict}" if row is None else f"the verdict on {row[0]}, {row[1]}"
            lines.append(f"{whose} is not as it was recorded, and is judged again; look after the disk")
        row = self.row("SELECT coalesce(max(id), 0) - count(*) FROM verdicts")
        if row and row[0]:
            gone = "1 verdict is" if row[0] == 1 else f"{row[0]:,} verdicts are"
            lines.append(f"{gone} gone from {self.path}; put a copy back if that was not meant")
        return lines

    def enroll(self, students: list[Student]) -> None:
        """Take the roster's students for those who are enrolled, instead of those before."""
        with self.transaction() as connection:
            connection.execute("UPDATE students SET is_enrolled = 0")
            rows = [(each.id, each.name, each.group, as_json(each.columns), each.is_enrolled) for each in students]
            connection.executemany("INSERT OR REPLACE INTO students VALUES (?, ?, ?, ?, ?)", rows)

    def enrolled(self) -> list[Student]:
        """The students of the last roster."""
        found = self.rows("SELECT student, name, class_group, columns FROM students WHERE is_enrolled ORDER BY student")
        decode = msgspec.json.Decoder(dict[str, str]).decode
        return [Student(key, name, group, decode(told), is_enrolled=True) for key, name, group, told in found]

    def name_student(self, student: Student) -> None:
        """Remember what a layout calls a student whom no roster names."""
        if self.row("SELECT 1 FROM students WHERE student = ?", student.id) is None:
            with self.transaction() as connection:
                row = (student.id, student.name, student.group, as_json(student.columns), student.is_enrolled)
                connection.execute("INSERT INTO students VALUES (?, ?, ?, ?, ?)", row)

    def is_judged(self, submission: SubmissionRecord, versions: Versions, *, accepts_open: bool) -> bool:
        """Whether the submission's newest verdict is about this source, exercise, kit and torch.

        One made where files or network were open counts only if `accepts_open`, one that is damaged or regraded never.
        """
        row = self.row(
            "SELECT digest, kit, torch, exercise_version, outcome, is_closed, id, coalesce(shared_with, id)"
            " FROM verdicts WHERE submission = (SELECT id FROM submissions WHERE student = ? AND exercise = ?)"
            " ORDER BY id DESC LIMIT 1",
            submission.student,
            submission.exercise,
        )
        if row is None:
            return False
        *judged, outcome, is_closed, verdict, seen_in = row
        if outcome == NOT_JUDGED or not (is_closed or accepts_open) or self.damaged & {verdict, seen_in}:
            return False
        is_due_again = verdict <= self.regrade(submission)[0]
        return not is_due_again and judged == [submission.digest, *msgspec.structs.astuple(versions)]

    def attempt(self, submission: SubmissionRecord) -> int:
        """How many other sources the student handed in for the exercise before this one."""
        found = self.rows(
            "SELECT digest FROM verdicts WHERE submission ="
            " (SELECT id FROM submissions WHERE student = ? AND exercise = ?) ORDER BY id",
            submission.student,
            submission.exercise,
        )
        changes, last = 0, ""
        for (digest,) in found:
            changes, last = changes + (digest != last), digest
        return changes - (last == submission.digest)

    def judged_alike(
        self, key: Likeness, submission: SubmissionRecord, versions: Versions, seed: int, *, accepts_open: bool
    ) -> SharedVerdict | None:
        """The first verdict judged (not shared) whose digest or fingerprint is the submission's, all else equal.

        None where something was not in time, or did not load to its end: that may be this machine's doing.
        """
        value = submission.digest if key == "digest" else submission.fingerprint
        wanted = (value, versions.exercise, versions.kit, versions.torch, seed, not accepts_open)
        found = self.rows(ALIKE.format(key=key), *wanted, self.regrade(submission)[0], NOT_JUDGED)
        return next((SharedVerdict(row[0], bool(row[1])) for row in found if row[0] not in self.damaged), None)

    def regrade(self, submission: SubmissionRecord) -> tuple[int, int | None]:
        """The last verdict that a regrade has put out of force for the submission, and the regrade's id."""
        row = self.row(
            "SELECT after_verdict, id FROM regrades WHERE exercise = ? AND (student IS NULL OR student = ?)"
            " ORDER BY id DESC LIMIT 1",
            submission.exercise,
            submission.student,
        )
        return (0, None) if row is None else (int(row[0]), int(row[1]))

    def request_regrade(self, exercise: str, student: str | None, reason: str) -> int:
        """Have verdicts judged again by the next batch; how many. `UsageError` where there is none."""
        where = "exercise = ? AND student = coalesce(?, student)"
        row = self.row(f"SELECT count(*) FROM submissions WHERE {where}", exercise, student)
        if row is None or not row[0]:
            told = exercise if student is None else f"{exercise} by {student}"
            raise UsageError(f"{self.path} holds no verdict on {told}; look for names with history or export")
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
        """Record a verdict with its defects, by their `numbers` where these are given, and its checks; its id."""
        with self.transaction() as connection:
            columns = self._about(connection, batch, submission, versions) | verdict_columns(verdict)
            row = _insert(connection, "verdicts", columns)
            _insert_all(connection, "defects", row, defect_rows(verdict, numbers))
            _insert_all(connection, "checks", row, check_rows(verdict))
            write_checksum(connection, row)
            return row

    def record_shared(
        self, batch: int, submission: SubmissionRecord, versions: Versions, shared: SharedVerdict
    ) -> None:
        """Record, for one more submission, a verdict that another one got."""
        with self.transaction() as connection:
            own = self._about(connection, batch, submission, versions) | {"seconds": 0.0, "shared_with": shared.id}
            del own["fingerprint"]
            copied = connection.execute(
                f"INSERT INTO verdicts ({', '.join(own)}, {COPIED})"
                f" SELECT {', '.join('?' * len(own))}, {COPIED} FROM verdicts WHERE id = ?",
                (*own.values(), shared.id),
            )
            write_checksum(connection, _new_row(copied))

    def record_not_judged(
        self, batch: int, submission: SubmissionRecord, versions: Versions, seed: int, reason: str
    ) -> None:
        """Record that the kit could not judge a submission, and why."""
        with self.transaction() as connection:
            about = self._about(connection, batch, submission, versions)
            row = _insert(connection, "verdicts", about | {"outcome": NOT_JUDGED, "reason": reason, "seed": seed})
            write_checksum(connection, row)

    def is_same(self, shared: SharedVerdict, verdict: Verdict) -> bool:
        """Whether a recorded verdict says what another one says of every check that came to its end in both.

        Of the defects, too, where all did: what is in time on one day may not be on a busy one.
        """
        recorded = dict(self.rows("SELECT check_id, status FROM checks WHERE verdict = ?", shared.id))
        seen = {outcome.check: str(outcome.status) for outcome in verdict.checks}
        late = {check for found in (recorded, seen) for check, status in found.items() if status in UNDECIDED}
        if any(recorded.get(check) != seen.get(check) for check in (recorded.keys() | seen.keys()) - late):
            return False
        defects = dict(self.rows("SELECT defect, status FROM defects WHERE verdict = ?", shared.id))
        return bool(late) or defects == {defect.id: str(defect.status) for defect in verdict.defects}

    def totals(self) -> list[tuple[Any, ...]]:
        """A row for each exercise: id, submissions, fixed, not fixed, not gradable, not judged, shared, mean, of."""
        results = ", ".join(f"sum(outcome = '{result}')" for result in (*Result, NOT_JUDGED))
        return list(
            self.rows(
                f"SELECT exercise, count(*), {results}, count(shared_with), avg(score), max(max_score)"
                " FROM current GROUP BY exercise ORDER BY exercise"
            )
        )

    def _about(
        self, connection: sqlite3.Connection, batch: int, submission: SubmissionRecord, versions: Versions
    ) -> dict[str, Any]:
        """The columns that every verdict has."""
        return {
            "submission": _submission_id(connection, submission),
            "batch": batch,
            "file": submission.file,
            "digest": submission.digest,
            "fingerprint": submission.fingerprint,
            "remark": submission.remark,
            "exercise_version": versions.exercise,
            "kit": versions.kit,
            "torch": versions.torch,
            "judged_at": time_text(),
            "regrade": self.regrade(submission)[1],
        }


def _submission_id(connection: sqlite3.Connection, submission: SubmissionRecord) -> int:
    """The row of a student's submissions for an exercise, with the time of the last one."""
    key = (submission.student, submission.exercise)
    row = connection.execute(
        "SELECT id, submitted_at FROM submissions WHERE student = ? AND exercise = ?", key
    ).fetchone()
    if row is None:
        columns = {"student": key[0], "exercise": key[1], "submitted_at": submission.submitted_at}
        return _insert(connection, "submissions", columns)
    if submission.submitted_at and row[1] != submission.submitted_at:
        connection.execute("UPDATE submissions SET submitted_at = ? WHERE id = ?", (submission.submitted_at, row[0]))
    return int(row[0])


def _insert(connection: sqlite3.Connection, table: str, columns: dict[str, Any]) -> int:
    """Add a row; its id."""
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    return _new_row(connection.execute(statement, tuple(columns.values())))


def _new_row(inserted: sqlite3.Cursor) -> int:
    """The id of the row that a statement has added."""
    if inserted.rowcount != 1 or inserted.lastrowid is None:
        raise RuntimeError("a row was not added to the gradebook")
    return inserted.lastrowid


def _insert_all(connection: sqlite3.Connection, table: str, verdict: int, rows: list[tuple[Any, ...]]) -> None:
    """Add rows that belong to a verdict."""
    if rows:
        places = ", ".join("?" * (1 + len(rows[0])))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", [(verdict, *row) for row in rows])
