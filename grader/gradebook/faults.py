"""What SQLite complains of, as sentences that say what to do."""

import sqlite3
from pathlib import Path

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


def fault(path: Path, error: sqlite3.Error) -> KitError:
    """The error to raise in place of SQLite's own."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    if code == sqlite3.SQLITE_NOTADB:
        return UsageError(f"{path} is no SQLite file, so no gradebook; name another file")
    meaning = FAULTS.get(code & PRIMARY_CODE, f"SQLite says: {error}; mend that")
    return KitError(f"{path}: {meaning}, then run the same command again; what was judged so far is kept")
