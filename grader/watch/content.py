"""What there is to grade at this moment, and whether it looks like the half of something."""

from pathlib import Path

from msgspec import Struct

from grader.course.paths import Course
from grader.submission import Submission, Unreadable, read_submission
from grader.verdict.judge import choose_file

WHOLE = 0.9
"""A file that keeps less than this of its length may still be on its way to the disk."""


class Content(Struct, frozen=True):
    """The file that is graded, what is in it, and what to say first about the choice."""

    path: Path
    read: Submission | Unreadable
    remark: str

    def digest(self) -> str:
        """The same for the same file with the same source."""
        return f"{self.path}: " + (self.read.digest() if isinstance(self.read, Submission) else self.read.reason)


def read_content(course: Course, exercise_id: str) -> Content:
    """What `grade` would grade now; a file that goes while it is looked at is unreadable."""
    try:
        choice = choose_file(course, exercise_id)
        return Content(choice.path, read_submission(choice.path, choice.path.name), choice.remark)
    except OSError as error:
        path = course.editable_files(exercise_id)[0]
        reason = f"the files of {exercise_id} cannot be read ({error.strerror}); check their permissions"
        return Content(path, Unreadable(reason), "")


def looks_cut_off(before: Content, now: Content) -> bool:
    """Whether the source lost a good part of its length or its last line's end, as one that is half written does."""
    if not isinstance(before.read, Submission) or not isinstance(now.read, Submission) or before.path != now.path:
        return False
    whole, part = _text(before.read), _text(now.read)
    return len(part) < WHOLE * len(whole) or (whole.endswith("\n") and not part.endswith("\n"))


def _text(submission: Submission) -> str:
    return "".join(chunk.text for chunk in submission.chunks)
