"""A checksum for each verdict: over its own row, its defects, its checks, and whose it is."""

import hashlib
import sqlite3

import msgspec

COLUMNS = (
    "id, submission, batch, file, digest, fingerprint, remark, exercise_version, kit, torch, outcome, score, max_score,"
    " reason, seen, seed, seconds, isolation, is_closed, is_bound, shared_with, judged_at, regrade"
)
SEALED = (
    "SELECT student, exercise FROM submissions WHERE id = (SELECT submission FROM verdicts WHERE id = ?)",
    f"SELECT {COLUMNS} FROM verdicts WHERE id = ?",  # noqa: S608
    "SELECT * FROM defects WHERE verdict = ? ORDER BY number",
    "SELECT * FROM checks WHERE verdict = ? ORDER BY number",
)
"""What the checksum covers."""


def seal(connection: sqlite3.Connection, verdict: int) -> None:
    """Write a verdict's checksum, in the transaction that wrote the verdict."""
    checksum = _checksum(connection, verdict)
    connection.execute("UPDATE verdicts SET checksum = ? WHERE id = ?", (checksum, verdict))


def check_pages(connection: sqlite3.Connection) -> None:
    """Raise SQLite's own error where the file's pages do not fit together."""
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        error = sqlite3.DatabaseError(found)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def damaged_verdicts(connection: sqlite3.Connection) -> set[int]:
    """The newest verdicts, and those that they share, that are not as they were recorded."""
    relied_on = connection.execute("SELECT verdict FROM current UNION SELECT seen_in FROM current").fetchall()
    return {verdict for (verdict,) in relied_on if not _is_intact(connection, verdict)}


def _is_intact(connection: sqlite3.Connection, verdict: int) -> bool:
    try:
        row = connection.execute("SELECT checksum FROM verdicts WHERE id = ?", (verdict,)).fetchone()
        return row is not None and row[0] == _checksum(connection, verdict)
    except sqlite3.OperationalError:  # bytes that are no text any more
        return False


def _checksum(connection: sqlite3.Connection, verdict: int) -> str:
    digest = hashlib.sha256()
    for statement in SEALED:
        rows = connection.execute(statement, (verdict,)).fetchall()
        digest.update(msgspec.msgpack.encode(rows))
    return digest.hexdigest()
