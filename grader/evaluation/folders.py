"""Output folders."""

import tempfile
from pathlib import Path

from grader.errors import UsageError


def make_folder(folder: Path) -> None:
    """Make an output folder, before work that takes long. Raise `UsageError` if no file can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}; name another folder") from None
