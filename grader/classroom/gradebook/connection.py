"""The gradebook's SQLite file: open and lock it, write in transactions, and explain what goes wrong."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from filelock import BaseFileLock, FileLock, Timeout

from grader.classroom.gradebook.schema import APPLICATION_ID, SCHEMA_VERSION, create_tables
from grader.errors import KitError, UsageError
from grader.spec.files import is_special_file

HELD = "another program has it open; close that program"
FAULTS = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_BUSY: HELD,
    sqlite3.SQLITE_LOCKED: HELD,
    sqlite3.SQLITE_READONLY: "it or its folder is read-only; allow writing",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened or created; check the permissions of its folder",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore a copy",
    sqlite3.SQLITE_IOERR: "the disk fails; free some space, or check the disk",
}
"""Explanations of SQLite's result codes for instructors."""

PRIMARY_CODE = 0xFF
"""The bits of a result code that identify its kind."""


@contextlib.contextmanager
def explain_sqlite(path: Path, *, writes: bool) -> Iterator[None]:
    """Raise `KitError` in place of SQLite's own errors. For a writer, the message says how to continue."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(path, error, writes=writes) from error


def _explained(path: Path, error: sqlite3.Error, *, writes: bool) -> KitError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    if code == sqlite3.SQLITE_NOTADB:
        return UsageError(f"{path} is not a SQLite file, so it is not a gradebook; name another file")
    meaning = FAULTS.get(code & PRIMARY_CODE, f"SQLite reports: {error}")
    can_go_on = writes and code & PRIMARY_CODE != sqlite3.SQLITE_CORRUPT
    end = ", then run the same command again; the verdicts so far are stored" if can_go_on else ""
    return KitError(f"{path}: {meaning}{end}")


def acquire_lock(path: Path) -> BaseFileLock:
    """Acquire and return the lock of the gradebook at `path`. It is released when the process ends, in any way.

    Raise `KitError` if another program writes to the gradebook, or if no file can be created beside it.
    """
    beside = Path(f"{os.path.realpath(path)}.lock")  # one lock, even if links give the gradebook several paths
    if beside.is_dir():
        raise KitError(f"{beside} is a folder, but the gradebook's lock must be a file of this name; move it away")
    lock = FileLock(beside, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        text = f"{path}: another batch or regrade is writing to it; wait until it ends, then run this again"
        raise KitError(text) from None
    except OSError as error:
        raise KitError(f"{path}: no file can be created beside it ({error.strerror}); check its folder") from None
    return lock


def _release_lock(lock: BaseFileLock) -> None:
    """Release the lock, and remove its file, which another account could not open."""
    with contextlib.suppress(OSError):  # an empty file that stays does no harm
        Path(lock.lock_file).unlink()
    lock.release()


BUSY_SECONDS = 5.0
"""How long a batch waits for another program that has the gradebook open."""

NO_FILE = -1
OWNERS_ONLY = 0o600
OTHER_SUFFIXES = (".csv", ".json", ".jsonl", ".xlsx", ".xls", ".txt", ".py", ".ipynb", ".zip", ".yaml", ".yml", ".html")
"""Suffixes that a gradebook must not have, because they belong to other kinds of file."""


class GradebookConnection:
    """An open gradebook. With `writes`, no other program can write to it meanwhile; any program can read it.

    If the file cannot be read or written, all methods change nothing and raise `KitError`.
    """

    def __init__(self, path: Path, *, writes: bool) -> None:
        """Open the file; create it with `writes`. Raise `UsageError` if it cannot be a gradebook."""
        self.path = path
        self._writes = writes
        require_place(path, is_new=writes)
        self._lock = acquire_lock(path) if writes else None
        try:
            if writes:
                _create(path)
            with explain_sqlite(path, writes=writes):
                self._connection = self._open(writes=writes)
                self._prepare(writes=writes)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release the lock."""
        if hasattr(self, "_connection"):
            self._connection.close()
        if self._lock is not None:
            _release_lock(self._lock)

    def row(self, statement: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row, if there is one."""
        with explain_sqlite(self.path, writes=self._writes):
            row: sqlite3.Row | None = self._connection.execute(statement, values).fetchone()
            return row

    def rows(self, statement: str, *values: Any) -> Iterator[sqlite3.Row]:
        """Yield the rows, reading them one by one."""
        with explain_sqlite(self.path, writes=self._writes):
            yield from self._connection.execute(statement, values)

    def secret(self, name: str) -> str:
        """Return a secret of this gradebook: `seed_key` or `pseudonym_key`."""
        row = self.row("SELECT value FROM settings WHERE key = ?", name)
        if row is None:
            raise KitError(f"{self.path} lacks its {name}; restore a copy")
        return str(row[0])

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all changes of the block, or none if the block raises."""
        if inode(self.path) != self._inode:
            raise KitError(f"{self.path} was moved or deleted meanwhile; move it back")
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
        connection = sqlite3.connect(target, timeout=BUSY_SECONDS, isolation_level=None, uri=not writes)
        connection.row_factory = sqlite3.Row
        return connection

    def _prepare(self, *, writes: bool) -> None:
        """Create the tables in a new file. Refuse a file that is not a gradebook of this version."""
        owner, version = (self._pragma(name) for name in ("application_id", "user_version"))
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if owner != APPLICATION_ID and (tables or owner or not writes):
            raise UsageError(f"{self.path} is another program's SQLite file, not a gradebook; name another file")
        if tables and version != SCHEMA_VERSION:
            raise UsageError(f"{self.path} was written by another version of the kit; grade into a new gradebook")
        self._inode = inode(self.path)
        if writes:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            if not tables:
                with self.transaction() as connection:
                    create_tables(connection)

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])


def _create(path: Path) -> None:
    """Create the file if it does not exist, readable only by its owner. SQLite gives its other files the same mode.

    Raise `UsageError` for a link to a file that does not exist, because somebody else may have chosen the target.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNERS_ONLY))
    except FileExistsError:
        if not path.exists():
            raise UsageError(f"{path} is a link to a file that does not exist; name the file itself") from None
    except OSError as error:
        raise KitError(f"{path} cannot be created: {error.strerror}; check the permissions of its folder") from None


def inode(path: Path) -> int:
    """Return the identity of the file to which a path leads now."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return NO_FILE


def require_place(path: Path, *, is_new: bool) -> None:
    """Raise `UsageError` if the path cannot be that of a gradebook."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name the gradebook's file, such as {path / 'class.sqlite'}")
    if is_special_file(path):
        raise UsageError(f"{path} is a pipe or a device; name a file for the gradebook")
    if path.suffix.lower() in OTHER_SUFFIXES:
        text = f"a gradebook is a SQLite file, and {path.name} names another kind of file"
        raise UsageError(f"{text}; name it {path.with_suffix('.sqlite').name}")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent} for the gradebook; create it first")
    if not is_new and not path.is_file():
        raise UsageError(f"there is no gradebook {path}; name the file that you gave to batch")
