"""The gradebook's SQLite file: opened, locked, migrated, written in transactions; what goes wrong, in sentences."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from grader.classroom.gradebook.rows import write_checksum
from grader.classroom.gradebook.schema import (
    APPLICATION_ID,
    FIRST_WITH_CHECKSUMS,
    OLDEST_READ,
    SCHEMA_VERSION,
    create_tables,
    migrate,
    missing_parts,
)
from grader.errors import KitError, UsageError
from grader.spec.paths import is_special_file

HELD = "another program holds it; close that program"
FAULTS = {
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_BUSY: HELD,
    sqlite3.SQLITE_LOCKED: HELD,
    sqlite3.SQLITE_READONLY: "it or its folder is read-only; allow writing",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened or made; look at its folder's permissions",
    sqlite3.SQLITE_CORRUPT: "it is damaged; put a copy back",
    sqlite3.SQLITE_IOERR: "the disk does not take what is written to it; make room, or look at the disk",
}
"""What SQLite's result codes mean to the person who grades."""

PRIMARY_CODE = 0xFF
"""The bits of a result code that tell its kind."""


@contextlib.contextmanager
def explain_sqlite(path: Path, *, writes: bool) -> Iterator[None]:
    """Raise `KitError` in place of SQLite's own errors; who writes is told how to go on."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(path, error, writes=writes) from error


def _explained(path: Path, error: sqlite3.Error, *, writes: bool) -> KitError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    if code == sqlite3.SQLITE_NOTADB:
        return UsageError(f"{path} is no SQLite file, so no gradebook; name another file")
    meaning = FAULTS.get(code & PRIMARY_CODE, f"SQLite says: {error}; mend that")
    can_go_on = writes and code & PRIMARY_CODE != sqlite3.SQLITE_CORRUPT
    end = ", then run the same command again; what was judged so far is kept" if can_go_on else ""
    return KitError(f"{path}: {meaning}{end}")


def acquire_lock(path: Path) -> BaseFileLock:
    """The lock of the gradebook at `path`, held; it falls with its process, however that ends.

    `KitError` where another program writes to it, or no file can be made beside the gradebook.
    """
    beside = Path(f"{os.path.realpath(path)}.lock")  # one lock, by whatever link the gradebook is reached
    if beside.is_dir():
        raise KitError(f"{beside} is a folder, where the file stands that keeps two batches apart; move it away")
    lock = FileLock(beside, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        text = f"{path}: another batch or regrade is writing to it; wait for its end, then run this again"
        raise KitError(text) from None
    except OSError as error:
        raise KitError(f"{path}: nothing can be written beside it ({error.strerror}); allow writing there") from None
    return lock


def _release_lock(lock: BaseFileLock) -> None:
    """Let go, and leave no file behind that another account could not open."""
    with contextlib.suppress(OSError):  # an empty file that stays does no harm
        Path(lock.lock_file).unlink()
    lock.release()


BUSY_SECONDS = 5.0
"""How long another program may hold the gradebook before a batch gives up."""

NO_FILE = -1
OTHER_SUFFIXES = (".csv", ".json", ".jsonl", ".xlsx", ".xls", ".txt", ".py", ".ipynb", ".zip", ".yaml", ".yml", ".html")
"""What a gradebook is not: a name by which people and programs would take it for something else."""


class GradebookConnection:
    """An open file; with `writes`, nobody else writes to it meanwhile. Anyone may read it.

    Everything raises `KitError` where the file cannot be read or written, having changed nothing.
    """

    def __init__(self, path: Path, *, writes: bool) -> None:
        """Open the file; one that writes makes it or migrates it. `UsageError` where it cannot be a gradebook."""
        self.path = path
        self._writes = writes
        require_place(path, is_new=writes)
        self._lock = acquire_lock(path) if writes else None
        try:
            with explain_sqlite(path, writes=writes):
                self._connection = self._open(writes=writes)
                self._prepare(writes=writes)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file and of the lock beside it."""
        if hasattr(self, "_connection"):
            self._connection.close()
        if self._lock is not None:
            _release_lock(self._lock)

    def row(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        """The first row, if there is one."""
        with explain_sqlite(self.path, writes=self._writes):
            row: tuple[Any, ...] | None = self._connection.execute(statement, values).fetchone()
            return row

    def rows(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The rows, read while they are used."""
        with explain_sqlite(self.path, writes=self._writes):
            yield from self._connection.execute(statement, values)

    def secret(self, name: str) -> str:
        """A key that is in this file alone: `seed_key` or `pseudonym_key`."""
        row = self.row("SELECT value FROM settings WHERE key = ?", name)
        if row is None:
            raise KitError(f"{self.path} has lost its {name}; put a copy back")
        return str(row[0])

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing, whatever ends it."""
        if inode(self.path) != self._inode:
            raise KitError(f"{self.path} was moved or deleted while it was written to; put it back")
        with explain_sqlite(self.path, writes=self._writes):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _open(self, *, writes: bool) -> sqlite3.Connection:
        target = str(self.path) if writes else f"{self.path.absolute().as_uri()}?mode=ro"
        return sqlite3.connect(target, timeout=BUSY_SECONDS, isolation_level=None, uri=not writes)

    def _prepare(self, *, writes: bool) -> None:
        """Make the tables in a new file, bring an older one to this version; refuse what is no gradebook."""
        owner, version = (self._pragma(name) for name in ("application_id", "user_version"))
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if owner != APPLICATION_ID and (tables or owner or not writes):
            raise UsageError(f"{self.path} is another program's SQLite file, not a gradebook; name another file")
        if version > SCHEMA_VERSION:
            raise UsageError(f"{self.path} was written by a newer version of the kit; use that one")
        self._inode = inode(self.path)
        if writes:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._bring_up_to_date(version, is_new=not tables)
        elif version < OLDEST_READ:
            told = f"{self.path} was written by an older version of the kit"
            raise UsageError(f"{told}; run batch into it once, which brings it to this one")
        missing = missing_parts(self._connection)
        if missing:
            raise KitError(f"{self.path} has lost {', '.join(missing)}; put a copy back")

    def _bring_up_to_date(self, version: int, *, is_new: bool) -> None:
        if is_new:
            with self.transaction() as connection:
                create_tables(connection)
        elif version < SCHEMA_VERSION:
            with self.transaction() as connection:
                migrate(connection, version)
                if version < FIRST_WITH_CHECKSUMS:
                    for (verdict,) in connection.execute("SELECT id FROM verdicts").fetchall():
                        write_checksum(connection, verdict)

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])


def inode(path: Path) -> int:
    """Which file a path leads to now."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return NO_FILE


def require_place(path: Path, *, is_new: bool) -> None:
    """Raise `UsageError` where no gradebook can be at the path."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name the gradebook's file, say {path / 'class.sqlite'}")
    if is_special_file(path):
        raise UsageError(f"{path} is a pipe or a device, and a gradebook is a file; name another file")
    if path.suffix.lower() in OTHER_SUFFIXES:
        text = f"a gradebook is a SQLite file, and {path.name} names another kind of file"
        raise UsageError(f"{text}; name it {path.with_suffix('.sqlite').name}")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent} for the gradebook; make it first")
    if not is_new and not path.is_file():
        raise UsageError(f"there is no gradebook {path}; name the file that batch was given")
