"""Read a trap's file."""

from pathlib import Path

from grader.errors import UsageError
from grader.spec.paths import TRAP, Course
from grader.submission import Unreadable, read_submission
from grader.trap.relay import Trap

MOST_CHARACTERS = 100_000


def read_trap(course: Course, exercise_id: str, path: Path | None = None) -> Trap:
    """Return the trap in a file, by default the exercise's own. Raise `UsageError` if there is none."""
    file = course.trap(exercise_id) if path is None else path
    if not file.is_file():
        raise UsageError(
            f"there is no {course.shown(file)}; write your tests there. exercises/README.md shows how (The trap)"
        )
    read = read_submission(file, file.name)
    if isinstance(read, Unreadable):
        raise UsageError(f"{course.shown(file)}: {read.reason}")
    text = "\n\n".join(chunk.text for chunk in read.chunks)
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"{course.shown(file)} has more than {MOST_CHARACTERS:,} characters; keep its tests small")
    return Trap(label=TRAP, text=text)
