"""Feedback for each student: the verdict as a page and as text, under the names that the platform takes back."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from grader.course.records import Exercise
from grader.gradebook.class_records import ABSENT, ClassRecords, GradeRow
from grader.gradebook.gradebook import NOT_JUDGED
from grader.report.exports import Exercises, make_folder
from grader.report.exports.formats import folder_name, graded
from grader.report.html import render_report
from grader.report.terminal import render_terminal

MOODLE = re.compile(r".+_\d+_assignsubmission_(?:file|onlinetext)_?")
CANVAS = re.compile(r"(.+?_(?:LATE_)?\d+_\d+_[^/]*?)(?:\.[^./]+)?(?:/.*)?", re.IGNORECASE)
TEXT_WIDTH, TEXT_LINES = 100, 200


def write_feedback(
    gradebook: Path, folder: Path, exercises: Exercises, looks_at: Callable[[Exercise], Mapping[str, str]]
) -> int:
    """An HTML and a text file for each verdict; how many. `looks_at` says what an exercise's checks look at."""
    count = 0
    with ClassRecords(gradebook) as records:
        make_folder(folder)
        for grade in records.grades():
            if grade.outcome in (ABSENT, NOT_JUDGED):
                continue
            exercise = exercises.get(grade.exercise)
            verdict = graded(records, grade, exercise).verdict
            base = folder / feedback_path(grade)
            base.parent.mkdir(parents=True, exist_ok=True)
            page = render_report(verdict, exercise, looks_at(exercise))
            text = render_terminal(verdict, exercise, width=TEXT_WIDTH, height=TEXT_LINES)
            base.with_name(f"{base.name}.html").write_text(page, encoding="utf-8", errors="backslashreplace")
            base.with_name(f"{base.name}.txt").write_text(text, encoding="utf-8", errors="backslashreplace")
            count += 1
    return count


def feedback_path(grade: GradeRow) -> Path:
    """Where a student's feedback goes, its suffix aside: as the platform named what it handed out."""
    first = grade.file.partition("/")[0].partition(os.sep)[0]
    moodle, canvas = MOODLE.match(first), CANVAS.fullmatch(first)
    if grade.layout == "moodle" and moodle:
        return Path(moodle[0]) / f"feedback_{grade.exercise}"
    if grade.layout == "canvas" and canvas:
        return Path(canvas[1] if grade.exercise in canvas[1] else f"{canvas[1]}_{grade.exercise}")
    return Path(folder_name(grade.student)) / grade.exercise / "feedback"
