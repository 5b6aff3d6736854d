"""Hints: one more at each call, for the first defect that is still there."""

import msgspec

from grader.course.paths import Course
from grader.course.records import Exercise
from grader.student.progress import Progress, load_progress, save_progress
from grader.verdict.attribution import DefectStatus

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
