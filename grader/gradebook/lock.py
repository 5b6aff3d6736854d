"""One batch at a time: a lock on a file beside the gradebook, which falls with its process however that ends."""

import sqlite3
from pathlib import Path

from grader.errors import KitError
from grader.gradebook.faults import fault

NO_FILE = -1


class Lock:
    """Held from when it is made until it is released. `KitError` where another batch holds it."""

    def __init__(self, path: Path) -> None:
        self._beside = Path(f"{path}.lock")
        try:
            while not self._is_taken():
                pass  # the batch that held it has ended and taken the file away: lock the next one
        except OSError as error:
            raise KitError(
                f"{path}: nothing can be written beside it ({error.strerror}); allow writing there"
            ) from None
        except sqlite3.Error as error:
            self._connection.close()
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                text = f"{path}: another batch is running into it; wait for its end, then run this again"
                raise KitError(text) from None
            raise fault(path, error) from None

    def release(self) -> None:
        """Let go, and leave no file behind."""
        try:
            self._beside.unlink(missing_ok=True)
        except OSError:
            pass  # an empty file that stays does no harm
        self._connection.close()

    def _is_taken(self) -> bool:
        """Lock the file; whether it is still the one that others would find."""
        self._beside.touch()
        before = inode(self._beside)
        self._connection = sqlite3.connect(self._beside, timeout=0, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = MEMORY")  # one file beside the gradebook is enough
        self._connection.execute("BEGIN EXCLUSIVE")
        if inode(self._beside) == before:
            return True
        self._connection.close()
        return False


def inode(path: Path) -> int:
    """Which file a path leads to now."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return NO_FILE
