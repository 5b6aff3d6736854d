"""Compare a student's file with the starter and with the reference; restore the starter."""

import difflib
import itertools
import time
from pathlib import Path

from msgspec import Struct

from grader.errors import UsageError
from grader.spec.files import write_product
from grader.spec.paths import Course
from grader.student.explanations import has_locked_solution, load_revealed
from grader.student.progress import forget_progress
from grader.student.traps import hand_out_trap
from grader.submission import Unreadable, read_submission
from grader.submission.choice import choose_file, is_edited


def changes(course: Course, exercise_id: str) -> str:
    """Return a unified diff from the starter to the student's file; empty if nothing changed.

    Raise `UsageError` if one of the files is unreadable.
    """
    path = choose_file(course, exercise_id).path
    before, after = _source_lines(course.pristine(path)), _source_lines(path)
    return "".join(difflib.unified_diff(before, after, f"starter/{path.name}", f"yours/{path.name}"))


def restore_starter(course: Course, exercise_id: str) -> list[str]:
    """Restore the starter and forget the progress. Keep a copy of an edited file.

    Return lines for the student, which name the copies. Raise `UsageError`, before any change, if there is no starter.
    """
    starters = {path: _starter(course, path) for path in course.editable_files(exercise_id)}
    lines, has_copy = [], False
    for path, starter in starters.items():
        if path.exists() and not is_edited(course, path):
            continue
        if path.exists():
            kept = _free_name(course.state_folder() / "kept" / exercise_id, path)
            write_product(kept, path.read_bytes())
            has_copy = True
            lines.append(f"{path.name}: your version is kept as {course.shown(kept)}")
        else:
            lines.append(f"{path.name}: it was missing; restored")
        write_product(path, starter)
    forget_progress(course, exercise_id)
    if hand_out_trap(course, exercise_id):
        lines.append("trap.py: it was missing; created empty")
    if has_copy:
        lines.append("To restore it, copy the kept file over the new one.")
    return lines or [f"{exercise_id} is unchanged since it was handed out, so there is nothing to reset"]


def _starter(course: Course, path: Path) -> bytes:
    pristine = course.pristine(path)
    try:
        return pristine.read_bytes()
    except OSError:
        missing = pristine.relative_to(path.parent)
        folder = course.shown(path.parent)
        raise UsageError(f"there is no {missing} in {folder}; unpack the course again to restore it") from None


def _free_name(folder: Path, path: Path) -> Path:
    """Return a path for a copy, with the current time in its name, at which there is no file."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    kept = folder / f"{path.stem}-{stamp}{path.suffix}"
    for number in itertools.count(2):
        if not kept.exists():
            break
        kept = folder / f"{path.stem}-{stamp}-{number}{path.suffix}"
    return kept


def _source_lines(path: Path) -> list[str]:
    submission = read_submission(path, path.name)
    if isinstance(submission, Unreadable):
        raise UsageError(f"there is nothing to compare: {submission.reason}")
    return [line for chunk in submission.chunks for line in _lines(chunk.text)]


def _lines(text: str) -> list[str]:
    """Return the lines of a text, each with a line break, without empty lines at the end."""
    return [line + "\n" for line in text.rstrip("\n").split("\n")]


class SideBySide(Struct, frozen=True, kw_only=True):
    """Two unified diffs from the starter: to the student's file, and to the reference."""

    yours: str
    reference: str


def compare_with_reference(course: Course, exercise_id: str) -> SideBySide:
    """Return both diffs. Raise `UsageError` in a student edition whose solution has not been revealed."""
    reference = _reference_text(course, exercise_id)
    module, _ = course.editable_files(exercise_id)
    before, after = _source_lines(course.pristine(module)), _lines(reference)
    difference = "".join(difflib.unified_diff(before, after, f"starter/{module.name}", f"reference/{module.name}"))
    return SideBySide(yours=changes(course, exercise_id), reference=difference)


def _reference_text(course: Course, exercise_id: str) -> str:
    path = course.reference(exercise_id)
    if path.is_file():
        return path.read_text(encoding="utf-8")
    solution = load_revealed(course, exercise_id).solution
    if solution is not None:
        return solution.reference
    if has_locked_solution(course, exercise_id):
        raise UsageError(f"the reference of {exercise_id} can be read here once every defect is fixed, extra ones too")
    raise UsageError(f"this edition has no reference of {exercise_id}; it is shown after the hand-in")
