"""A file handed in -> Submission. Nothing here parses its text as Python or executes it."""

from grader.submission.reading import MAX_FILE_BYTES, read_submission, read_text
from grader.submission.submission import (
    DEMONSTRATION,
    Chunk,
    Submission,
    Unreadable,
    submission_from_text,
    why_too_large,
)

__all__ = [
    "DEMONSTRATION",
    "MAX_FILE_BYTES",
    "Chunk",
    "Submission",
    "Unreadable",
    "read_submission",
    "read_text",
    "submission_from_text",
    "why_too_large",
]
