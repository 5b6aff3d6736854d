"""The gradebook: a SQLite file that keeps every verdict of a class, each in a transaction of its own."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from grader.errors import KitError, UsageError
from grader.gradebook.faults import fault
from grader.gradebook.lock import Lock, inode
from grader.gradebook.rows import as_json, check_rows, defect_rows, verdict_columns
from grader.gradebook.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from grader.verdict.verdict import Result, Verdict

BUSY_SECONDS = 5.0
"""How long another program may hold the gradebook before a batch gives up."""

NOT_JUDGED = "not_judged"
"""The outcome of a submission that the kit could not judge; the next run tries again."""

IDENTITY = ("application_id", "user_version")

ALIKE = (
    "SELECT id, is_bound FROM verdicts INDEXED BY same_{key} WHERE {key} = ? AND exercise_version = ? AND kit = ?"
    " AND torch = ? AND seed = ? AND is_closed >= ? AND outcome <> ? AND shared_with IS NULL ORDER BY id LIMIT 1"
)
COPIED = "outcome, score, max_score, reason, seen, seed, isolation, is_closed, is_bound, fingerprint"
"""The columns that a shared verdict has from the one it shares."""


class Versions(Struct, frozen=True):
    """What a verdict depends on besides its submission."""

    kit: str
    torch: str
    exercise: str


class Handed(Struct, frozen=True):
    """One submission as the gradebook knows it; `digest` is that of its exact source, `fingerprint` its tree's."""

    student: str
    exercise: str
    file: str
    digest: str
    fingerprint: str = ""
    remark: str = ""


class Kept(Struct, frozen=True):
    """A verdict in the gradebook, as far as sharing needs it; `is_bound` says that it holds for exact copies alone."""

    id: int
    is_bound: bool


class Gradebook:
    """An open gradebook; nobody else runs a batch into it meanwhile, anyone may read it.

    Every method raises `KitError` where the file cannot be read or written, having changed nothing.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. `UsageError` where it cannot be a gradebook."""
        self.path = path
        _require_place(path)
        self._lock = Lock(path)
        try:
            with self._told():
                self._connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
                self._prepare()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file and of the lock beside it."""
        if hasattr(self, "_connection"):
            self._connection.close()
        self._lock.release()

    def seed(self) -> int | None:
        """The seed of the first batch, which the following ones keep to; None in a new gradebook."""
        row = self._row("SELECT seed FROM batches ORDER BY id LIMIT 1")
        return None if row is None else int(row[0])

    def begin_batch(self, seed: int, submissions: str, options: dict[str, Any]) -> int:
        """Record that a batch starts; its id."""
        with self._transaction():
            return self._insert(
                "batches",
                seed=seed,
                submissions=submissions,
                options=as_json(options),
                started_at=_now(),
            )

    def end_batch(self, batch: int) -> None:
        """Record that it has gone through all submissions."""
        with self._transaction():
            self._connection.execute("UPDATE batches SET ended_at = ? WHERE id = ?", (_now(), batch))

    def is_judged(self, handed: Handed, versions: Versions, *, open_counts: bool) -> bool:
        """Whether the submission's newest verdict is about this source, exercise, kit and torch.

        A verdict made where files or network were open counts only if `open_counts`.
        """
        row = self._row(
            "SELECT digest, exercise_version, kit, torch, outcome, is_closed FROM verdicts"
            " WHERE submission = (SELECT id FROM submissions WHERE student = ? AND exercise = ?)"
            " ORDER BY id DESC LIMIT 1",
            handed.student,
            handed.exercise,
        )
        wanted = (handed.digest, versions.exercise, versions.kit, versions.torch)
        return row is not None and row[:4] == wanted and row[4] != NOT_JUDGED and bool(row[5] or open_counts)

    def judged_alike(self, key: str, value: str, versions: Versions, seed: int, *, open_counts: bool) -> Kept | None:
        """The first verdict judged (not shared) whose `digest` or `fingerprint` is this, all else being equal."""
        row = self._row(
            ALIKE.format(key=key),
            value,
            versions.exercise,
            versions.kit,
            versions.torch,
            seed,
            not open_counts,
            NOT_JUDGED,
        )
        return None if row is None else Kept(row[0], bool(row[1]))

    def record(self, batch: int, handed: Handed, versions: Versions, verdict: Verdict) -> None:
        """Keep a verdict with its defects and checks."""
        with self._transaction():
            row = self._insert("verdicts", **self._about(batch, handed, versions), **verdict_columns(verdict))
            self._insert_all("defects", row, defect_rows(verdict))
            self._insert_all("checks", row, check_rows(verdict))

    def record_shared(self, batch: int, handed: Handed, versions: Versions, kept: Kept) -> None:
        """Keep, for one more submission, a verdict that another one got."""
        with self._transaction():
            own = self._about(batch, handed, versions) | {"seconds": 0.0, "shared_with": kept.id}
            del own["fingerprint"]
            self._connection.execute(
                f"INSERT INTO verdicts ({', '.join(own)}, {COPIED})"  # noqa: S608 - names of columns
                f" SELECT {', '.join('?' * len(own))}, {COPIED} FROM verdicts WHERE id = ?",
                (*own.values(), kept.id),
            )

    def record_not_judged(self, batch: int, handed: Handed, versions: Versions, seed: int, reason: str) -> None:
        """Keep that the kit could not judge a submission, and why."""
        with self._transaction():
            self._insert(
                "verdicts", **self._about(batch, handed, versions), outcome=NOT_JUDGED, reason=reason, seed=seed
            )

    def totals(self) -> list[tuple[Any, ...]]:
        """A row for each exercise: id, submissions, fixed, not fixed, not gradable, not judged, shared, mean, of."""
        results = ", ".join(f"sum(outcome = '{result}')" for result in (*Result, NOT_JUDGED))
        with self._told():
            return self._connection.execute(
                f"SELECT exercise, count(*), {results}, count(shared_with), avg(score), max(max_score)"  # noqa: S608
                " FROM current GROUP BY exercise ORDER BY exercise"
            ).fetchall()

    def _about(self, batch: int, handed: Handed, versions: Versions) -> dict[str, Any]:
        """The columns that every verdict has."""
        return {
            "submission": self._submission(handed),
            "batch": batch,
            "file": handed.file,
            "digest": handed.digest,
            "fingerprint": handed.fingerprint,
            "remark": handed.remark,
            "exercise_version": versions.exercise,
            "kit": versions.kit,
            "torch": versions.torch,
            "judged_at": _now(),
        }

    def _submission(self, handed: Handed) -> int:
        row = self._row(
            "SELECT id FROM submissions WHERE student = ? AND exercise = ?", handed.student, handed.exercise
        )
        if row is not None:
            return int(row[0])
        return self._insert("submissions", student=handed.student, exercise=handed.exercise)

    def _insert(self, table: str, **columns: Any) -> int:
        """Add a row; its id."""
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        return self._connection.execute(statement, tuple(columns.values())).lastrowid or 0

    def _insert_all(self, table: str, verdict: int, rows: list[tuple[Any, ...]]) -> None:
        """Add rows that belong to a verdict."""
        if rows:
            places = ", ".join("?" * (1 + len(rows[0])))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({places})", [(verdict, *row) for row in rows])  # noqa: S608

    def _row(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        with self._told():
            row: tuple[Any, ...] | None = self._connection.execute(statement, values).fetchone()
            return row

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of it or nothing, whatever ends it."""
        if inode(self.path) != self._inode:
            raise KitError(f"{self.path} was moved or deleted while a batch was running into it; put it back")
        with self._told():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """SQLite's errors as sentences."""
        try:
            yield
        except sqlite3.Error as error:
            raise fault(self.path, error) from error

    def _prepare(self) -> None:
        """Make the tables in a new file; refuse what is no gradebook, or one of a newer kit."""
        owner, version = (self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in IDENTITY)
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if owner != APPLICATION_ID and (tables or owner):
            raise UsageError(f"{self.path} is another program's SQLite file, not a gradebook; name another file")
        if version > SCHEMA_VERSION:
            raise UsageError(f"{self.path} was written by a newer version of the kit; use that one")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._inode = inode(self.path)
        if not tables:
            with self._transaction():
                for statement in SCHEMA:
                    self._connection.execute(statement)


def _require_place(path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name the gradebook's file, say {path / 'class.sqlite'}")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent} for the gradebook; make it first")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
