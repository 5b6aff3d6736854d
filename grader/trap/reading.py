"""Read a trap's file."""

from pathlib import Path

from grader.errors import UsageError
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.submission import Submission, Unreadable, read_submission
from grader.trap.counting import with_points
from grader.trap.result import TrapResult
from grader.trap.session import Trap

MAX_CHARACTERS = 100_000

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
            f'there is no {course.shown(file)}; write your tests there (see "The trap" in exercises/README.md)'
        )
    return trap_of(read_submission(file, file.name), file.name if path is None else course.shown(file))


def trap_of(read: Submission | Unreadable, name: str) -> Trap:
    """Return the trap in a file that was read; `name` is its name on pages and in errors.

    Raise `UsageError` if it is unreadable or too large.
    """
    problem = _problem(read)
    if problem:
        raise UsageError(f"{name}: {problem}")
    return Trap(name=name, text=_text(read))


def refuse_trap(exercise: Exercise, read: Submission | Unreadable, file: str, seed: int) -> TrapResult | None:
    """Return the result of a trap that is unreadable or too large; None if its tests can run."""
    problem = _problem(read)
    if not problem:
        return None
    result = TrapResult(exercise=exercise.id, file=file, seed=seed, problem=problem)
    return with_points(result, exercise)


def is_unwritten(read: Submission | Unreadable) -> bool:
    """Return whether a trap is unchanged: all its lines are empty or comments."""
    lines = (line.strip() for line in _text(read).splitlines())
    return isinstance(read, Submission) and all(not line or line.startswith("#") for line in lines)


def _problem(read: Submission | Unreadable) -> str:
    if isinstance(read, Unreadable):
        return read.reason
    is_too_large = len(_text(read)) > MAX_CHARACTERS
    return f"it has more than {MAX_CHARACTERS:,} characters; keep its tests small" if is_too_large else ""


def _text(read: Submission | Unreadable) -> str:
    return "\n\n".join(chunk.text for chunk in read.chunks) if isinstance(read, Submission) else ""
