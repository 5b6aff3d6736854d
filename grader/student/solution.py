"""What the student changed beside what the reference changed, once the hunt is over."""

import difflib

from msgspec import Struct

from grader.course.paths import Course
from grader.errors import UsageError
from grader.student.changes import changes
from grader.submission.reading import read_submission
from grader.submission.records import Unreadable


class Comparison(Struct, frozen=True):
    """Two unified diffs from the starter: to what the student has, and to the reference."""

    yours: str
    reference: str


def compare_with_reference(course: Course, exercise_id: str) -> Comparison:
    """Both changes; `UsageError` in a student edition, which has no reference."""
    path = course.reference(exercise_id)
    if not path.is_file():
        raise UsageError(f"this edition has no reference of {exercise_id}; ask whoever gave it to you")
    module, _ = course.editable_files(exercise_id)
    starter = read_submission(course.pristine(module), module.name)
    if isinstance(starter, Unreadable):
        raise UsageError(starter.reason)
    before = "".join(chunk.text for chunk in starter.chunks).splitlines(keepends=True)
    after = path.read_text(encoding="utf-8").splitlines(keepends=True)
    theirs = "".join(difflib.unified_diff(before, after, "starter/attention.py", "reference/attention.py"))
    return Comparison(changes(course, exercise_id), theirs)
