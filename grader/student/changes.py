"""Compare a student's file with the starter and, after the hunt, with the reference; restore the starter."""

import difflib
import itertools
import time
from pathlib import Path

from msgspec import Struct

from grader.errors import UsageError
from grader.spec.paths import Course, write_product
from grader.student.progress import forget_progress
from grader.submission import Unreadable, read_submission
from grader.submission.choice import choose_file, is_edited


def changes(course: Course, exercise_id: str) -> str:
    """Return a unified diff from the starter to the student's file; empty if nothing changed."""
    path = choose_file(course, exercise_id).path
    before, after = _source_lines(course.pristine(path)), _source_lines(path)
    return "".join(difflib.unified_diff(before, after, f"starter/{path.name}", f"yours/{path.name}"))


def start_again(course: Course, exercise_id: str) -> list[str]:
    """Restore the starter and rewind the hints. A copy of the student's file is kept; one returned line says where.

    Raise `UsageError`, with nothing changed, if there is no starter.
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
            lines.append(f"{path.name}: your version is kept as {kept.relative_to(course.root)}")
        else:
            lines.append(f"{path.name}: it was missing and is back")
        write_product(path, starter)
    forget_progress(course, exercise_id)
    if has_copy:
        lines.append("To restore it, copy the kept file over the new one.")
    return lines or [f"{exercise_id} is as it was handed out; nothing to reset"]


def _starter(course: Course, path: Path) -> bytes:
    pristine = course.pristine(path)
    try:
        return pristine.read_bytes()
    except OSError:
        lost = pristine.relative_to(path.parent)
        raise UsageError(f"there is no {lost} in {course.shown(path.parent)}; unpack the course again for it") from None


def _free_name(folder: Path, path: Path) -> Path:
    """A name that says when, and that no kept copy has."""
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
    lines = []
    for chunk in submission.chunks:
        lines += [line + "\n" for line in chunk.text.rstrip("\n").split("\n")]
    return lines


class SideBySide(Struct, frozen=True, kw_only=True):
    """Two unified diffs from the starter: to the student's file, and to the reference."""

    yours: str
    reference: str


def compare_with_reference(course: Course, exercise_id: str) -> SideBySide:
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
    theirs = "".join(difflib.unified_diff(before, after, f"starter/{module.name}", f"reference/{path.name}"))
    return SideBySide(yours=changes(course, exercise_id), reference=theirs)
