"""A SQLite file that keeps every verdict of a class."""

from grader.gradebook.gradebook import NOT_JUDGED, Gradebook, Handed, Kept, Versions

__all__ = ["NOT_JUDGED", "Gradebook", "Handed", "Kept", "Versions"]
