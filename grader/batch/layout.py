"""Where submissions are handed in -> entries, one after the other."""

from collections.abc import Collection
from pathlib import Path

from grader.batch.entry import PassedOver
from grader.batch.folder import Folder
from grader.batch.lines import Lines
from grader.errors import UsageError

LINES_SUFFIXES = (".jsonl", ".ndjson")
LAYOUTS = (
    "DIR/<student>/<exercise>/attention.py (or .ipynb), DIR/<student>/<exercise>.py (or .ipynb), "
    "or a .jsonl file whose lines have student, exercise and source"
)

Layout = Folder | Lines
"""Iterated over, gives entries; `total` is the position of what stands last."""


def find_layout(path: Path, exercises: Collection[str], passed_over: PassedOver) -> Layout:
    """The submissions in a folder or a JSON Lines file. `UsageError` where there is neither."""
    if path.is_dir():
        return Folder(path, exercises, passed_over)
    if path.is_file() and path.suffix in LINES_SUFFIXES:
        return Lines(path, exercises, passed_over)
    if path.exists():
        raise UsageError(f"{path} is neither a folder nor a .jsonl file; hand over {LAYOUTS}")
    raise UsageError(f"there is no {path}; hand over {LAYOUTS}")
