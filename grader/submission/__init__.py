"""A file handed in -> Submission. Its text is never parsed as Python and never executed on this side."""

from grader.submission.notebook import DEMONSTRATION
from grader.submission.reading import read_submission, read_text
from grader.submission.records import Chunk, Submission, Unreadable, exceeds, submission_from_text
from grader.submission.source_file import MAX_FILE_BYTES

__all__ = [
    "DEMONSTRATION",
    "MAX_FILE_BYTES",
    "Chunk",
    "Submission",
    "Unreadable",
    "exceeds",
    "read_submission",
    "read_text",
    "submission_from_text",
]
