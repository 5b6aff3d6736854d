"""How a class hands in: each layout, iterated over, gives submissions."""

from collections.abc import Collection
from pathlib import Path

from grader.batch.layouts.folders import Folder
from grader.batch.layouts.lines import Lines
from grader.batch.layouts.records import Layout, SkippedFiles, SubmissionFiles
from grader.errors import UsageError

__all__ = ["LAYOUTS", "Layout", "SkippedFiles", "SubmissionFiles", "find_layout"]

LINES_SUFFIXES = (".jsonl", ".ndjson")
LAYOUTS = (
    "DIR/<student>/<exercise>/attention.py (or .ipynb), DIR/<student>/<exercise>.py (or .ipynb), "
    "or a .jsonl file whose lines have student, exercise and source"
)


def find_layout(path: Path, exercises: Collection[str], skipped: SkippedFiles) -> Layout:
    """The submissions in a folder or a JSON Lines file. `UsageError` where there is neither."""
    if path.is_dir():
        return Folder(path, exercises, skipped)
    if path.is_file() and path.suffix in LINES_SUFFIXES:
        return Lines(path, exercises, skipped)
    if path.exists():
        raise UsageError(f"{path} is neither a folder nor a .jsonl file; hand over {LAYOUTS}")
    raise UsageError(f"there is no {path}; hand over {LAYOUTS}")
