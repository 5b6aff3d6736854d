"""What SQLite and the lock complain of, as sentences that say what to do; the lock itself."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from grader.errors import KitError, UsageError

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
def explain_sqlite(path: Path) -> Iterator[None]:
    """Raise `KitError` in place of SQLite's own errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(path, error) from error


def _explained(path: Path, error: sqlite3.Error) -> KitError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    if code == sqlite3.SQLITE_NOTADB:
        return UsageError(f"{path} is no SQLite file, so no gradebook; name another file")
    meaning = FAULTS.get(code & PRIMARY_CODE, f"SQLite says: {error}; mend that")
    return KitError(f"{path}: {meaning}, then run the same command again; what was judged so far is kept")


def acquire_lock(path: Path) -> BaseFileLock:
    """The lock of the gradebook at `path`, held; it falls with its process, however that ends.

    `KitError` where another batch holds it, or no file can be made beside the gradebook.
    """
    beside = Path(f"{path}.lock")
    if beside.is_dir():
        raise KitError(f"{beside} is a folder, where the file stands that keeps two batches apart; move it away")
    lock = FileLock(beside, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        text = f"{path}: another batch is running into it; wait for its end, then run this again"
        raise KitError(text) from None
    except OSError as error:
        raise KitError(f"{path}: nothing can be written beside it ({error.strerror}); allow writing there") from None
    return lock


def release_lock(lock: BaseFileLock) -> None:
    """Let go, and leave no file behind that another account could not open."""
    with contextlib.suppress(OSError):  # an empty file that stays does no harm
        Path(lock.lock_file).unlink()
    lock.release()
