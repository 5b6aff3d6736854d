"""A path -> Submission: the file's bytes, decoded as the module or the notebook that its name says it is."""

import re
from pathlib import Path

from grader.submission.module import from_module, unix_lines
from grader.submission.notebook import from_notebook
from grader.submission.records import Submission, Unreadable, submission_from_text
from grader.submission.source_file import read_source_file

HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")


def read_submission(path: Path, name: str, *, inside: Path | None = None) -> Submission | Unreadable:
    """The submission in a `.py` or `.ipynb` file, or why there is none.

    The path may hold links; where `inside` is given, the folder that holds what others handed in, no part below it may.
    """
    name = name.encode("utf-8", "backslashreplace").decode()  # file names are bytes, and need not be text
    content = read_source_file(path, name, inside)
    if isinstance(content, Unreadable):
        return content
    submission = from_notebook(content, name) if path.suffix.lower() == ".ipynb" else from_module(content, name)
    if isinstance(submission, Submission):
        return _why_no_source(submission) or submission
    return submission


def read_text(text: str, name: str = "attention.py") -> Submission | Unreadable:
    """The submission that came as text: a byte order mark and line ends are what they are in a file."""
    submission = submission_from_text(unix_lines(text), name)
    return _why_no_source(submission) or submission


def _why_no_source(submission: Submission) -> Unreadable | None:
    """Why the text cannot be Python source, whatever it says."""
    for chunk in submission.chunks:
        place = chunk.label if chunk.label == submission.name else f"{submission.name}, {chunk.label}"
        if "\0" in chunk.text:
            return Unreadable(f"{place} holds a NUL byte, so it is not Python source; save it again as UTF-8 text")
        if HALF_A_CHARACTER.search(chunk.text):
            return Unreadable(f"{place} holds half a character (a lone surrogate); delete it and save again")
    return None
