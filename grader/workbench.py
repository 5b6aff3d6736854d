"""What a student does with an exercise besides grading it: ask for a hint, see what changed, start again."""

import difflib
import itertools
import time
from pathlib import Path

import msgspec

from grader.attribution import DefectStatus
from grader.course import Course
from grader.errors import KitError
from grader.exercise import Exercise
from grader.grading import choose_file, is_edited
from grader.progress import Progress, load_progress, save_progress
from grader.submission import Unreadable, read_submission

PUBLIC_HINTS = "public"
"""How progress calls the hints of a student edition, whose defects have no names."""


def next_hint(course: Course, exercise: Exercise) -> str:
    """One more hint for the first defect that the last grading did not find fixed; hints given are remembered."""
    progress = load_progress(course, exercise.id)
    if exercise.is_public():
        return _next_public_hint(course, exercise, progress)
    left = [defect for defect in exercise.defects if progress.statuses.get(defect.id) is not DefectStatus.FIXED]
    if not left:
        return f"Every defect of {exercise.id} is fixed; there is nothing left to hint at."
    defect = min(left, key=lambda each: each.stretch)
    given = progress.hints_given.get(defect.id, 0)
    number = min(given + 1, len(defect.hints))
    hints_given = {**progress.hints_given, defect.id: number}
    save_progress(course, exercise.id, msgspec.structs.replace(progress, hints_given=hints_given))
    last = " That was the last one." if number == len(defect.hints) else ""
    untried = (
        "" if progress.outcome else f"\n(Run python -m grader {exercise.id} first, and hints follow what is left.)"
    )
    text = " ".join(defect.hints[number - 1].split())
    return f"{defect.id}, hint {number} of {len(defect.hints)}: {text}{last}{untried}"


def _next_public_hint(course: Course, exercise: Exercise, progress: Progress) -> str:
    """One more of the hints that a student edition holds, where it holds any, one defect after the other."""
    if not exercise.hints:
        return f"This edition has no hints; ask whoever gave you {exercise.id}."
    texts = [text for hints in exercise.hints for text in hints]
    number = min(progress.hints_given.get(PUBLIC_HINTS, 0) + 1, len(texts))
    hints_given = {**progress.hints_given, PUBLIC_HINTS: number}
    save_progress(course, exercise.id, msgspec.structs.replace(progress, hints_given=hints_given))
    last = " That was the last one." if number == len(texts) else ""
    return f"{exercise.id}, hint {number} of {len(texts)}: {' '.join(texts[number - 1].split())}{last}"


def changes(course: Course, exercise_id: str) -> str:
    """A unified diff from the starter to what the student has; empty where nothing changed."""
    path = choose_file(course, exercise_id).path
    before, after = _source_lines(course.pristine(path)), _source_lines(path)
    return "".join(difflib.unified_diff(before, after, f"starter/{path.name}", f"yours/{path.name}"))


def start_again(course: Course, exercise_id: str) -> list[str]:
    """Put the starter back; what was there is kept, and one line says where."""
    told = []
    for path in course.twins(exercise_id):
        pristine = course.pristine(path)
        if path.exists() and not is_edited(course, path):
            continue
        if path.exists():
            kept = _free_name(course.state_folder() / "kept" / exercise_id, path)
            kept.parent.mkdir(parents=True, exist_ok=True)
            path.replace(kept)
            told.append(f"{path.name}: your version is kept as {kept.relative_to(course.root)}")
        else:
            told.append(f"{path.name}: it was missing and is back")
        path.write_bytes(pristine.read_bytes())
    return told or [f"{exercise_id} is as it was handed out; nothing to reset"]


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
        raise KitError(submission.reason)
    lines = []
    for chunk in submission.chunks:
        lines += [line + "\n" for line in chunk.text.rstrip("\n").split("\n")]
    return lines
