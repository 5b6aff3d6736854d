"""Record the verdict of a student's own file."""

from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.student.claims import withhold
from grader.student.progress import remember_verdict
from grader.student.traps import keep_state
from grader.submission import Submission, Unreadable
from grader.verdict.verdict import Verdict


def record_verdict(
    course: Course, read: Submission | Unreadable, verdict: Verdict, *, is_attempt: bool = True
) -> Verdict:
    """Record the full verdict of a file, and return the verdict for the student.

    `is_attempt` is true if the student asked for a verdict, and false if a hint or a report needed one.
    """
    shown = withhold(course, load_exercise(course.description(verdict.exercise)), verdict)
    record_shown(course, read, shown, is_attempt=is_attempt)
    return shown


def record_shown(course: Course, read: Submission | Unreadable, shown: Verdict, *, is_attempt: bool = True) -> None:
    """Record a verdict that the student has seen, and keep the file's content for traps."""
    remember_verdict(course, shown, is_attempt=is_attempt)
    keep_state(course, read, shown)
