"""Read a trap's file."""

from pathlib import Path

from grader.errors import UsageError
from grader.spec.paths import TRAP, Course
from grader.submission import Submission, Unreadable, read_submission
from grader.trap.relay import Trap

MOST_CHARACTERS = 100_000

TEMPLATE = """\
# Write tests here that right code passes and defective code fails; exercises/README.md, "The trap", shows how.
# Then run: python -m grader trap {exercise}
"""
"""The content of a trap that is handed out."""


def read_trap(course: Course, exercise_id: str, path: Path | None = None) -> Trap:
    """Return the trap in a file, by default the exercise's own. Raise `UsageError` if there is none."""
    file = course.trap(exercise_id) if path is None else path
    if not file.is_file():
        raise UsageError(
            f"there is no {course.shown(file)}; write your tests there. exercises/README.md shows how (The trap)"
        )
    return trap_of(read_submission(file, file.name), course.shown(file))


def trap_of(read: Submission | Unreadable, name: str) -> Trap:
    """Return the trap in what was read; `name` is its name in errors.

    Raise `UsageError` if it is unreadable or too large.
    """
    if isinstance(read, Unreadable):
        raise UsageError(f"{name}: {read.reason}")
    text = "\n\n".join(chunk.text for chunk in read.chunks)
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"{name} has more than {MOST_CHARACTERS:,} characters; keep its tests small")
    return Trap(label=TRAP, text=text)
