"""A row for each student and exercise, for spreadsheets."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from grader.gradebook.class_records import ClassRecords
from grader.report.exports.formats import ClassExport, cell, number

if TYPE_CHECKING:
    from grader.report.exports import Exercises

CSV_COLUMNS = (
    *("student", "name", "group", "exercise", "outcome", "score", "max_score", "extra", "max_extra", "attempts"),
    *("submitted_at", "judged_at", "reason", "remark", "file"),
)


def _write_csv(records: ClassRecords, _exercises: "Exercises", path: Path, _anonymous: bool) -> None:
    """Rows as they are read."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(CSV_COLUMNS)
        for grade in records.grades():
            points = map(number, (grade.score, grade.max_score, grade.extra, grade.max_extra))
            before = map(cell, (grade.student, grade.name, grade.group, grade.exercise, grade.outcome))
            after = map(cell, (grade.submitted_at, grade.judged_at, grade.reason, grade.remark, grade.file))
            rows.writerow([*before, *points, grade.attempts, *after])


GRADES_CSV = ClassExport("csv", "grades.csv", _write_csv)
