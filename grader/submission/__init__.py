"""Turn a submitted file into a `Submission`. No code here parses or runs its Python."""

from grader.submission.reading import read_submission, read_text
from grader.submission.submission import (
    DEMONSTRATION,
    MAX_FILE_BYTES,
    MAX_SOURCE_BYTES,
    Chunk,
    Submission,
    Unreadable,
    submission_from_text,
    why_too_large,
)

__all__ = [
    "DEMONSTRATION",
    "MAX_FILE_BYTES",
    "MAX_SOURCE_BYTES",
    "Chunk",
    "Submission",
    "Unreadable",
    "read_submission",
    "read_text",
    "submission_from_text",
    "why_too_large",
]
