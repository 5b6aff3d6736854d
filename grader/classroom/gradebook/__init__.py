"""The gradebook: a SQLite file with every verdict of a class."""

from grader.classroom.gradebook.gradebook import NOT_JUDGED, Gradebook
from grader.classroom.gradebook.rows import Student, SubmissionRecord, Versions, WorkKind

__all__ = ["NOT_JUDGED", "Gradebook", "Student", "SubmissionRecord", "Versions", "WorkKind"]
