"""Canvas' gradebook: a row for each student, a column for each exercise and one for its extras."""

import csv
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from grader.gradebook.class_records import ClassRecords, GradeRow
from grader.report.exports.formats import ClassExport, cell, number

if TYPE_CHECKING:
    from grader.report.exports import Exercises

ABOUT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
FILLED_BY = (
    ("canvas_id", "canvas id"),
    ("sis_user_id", "sis user id", "sis_id"),
    ("sis_login_id", "sis login id", "login"),
)
"""By which of the roster's columns Canvas' own are filled."""


def _write_canvas(records: ClassRecords, exercises: "Exercises", path: Path, _anonymous: bool) -> None:
    """Canvas takes a column whose name is no assignment of its own for a new one, and asks."""
    names = records.exercises()
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        extras = {name for name in names if any(defect.stretch for defect in exercises.get(name).defects)}
        rows.writerow([*ABOUT, *itertools.chain.from_iterable(_headings(name, extras) for name in names)])
        possible = [[number(exercises.get(name).max_score()), *(["0"] if name in extras else [])] for name in names]
        rows.writerow(["    Points Possible", *[""] * (len(ABOUT) - 1), *itertools.chain.from_iterable(possible)])
        for _, grades in itertools.groupby(records.grades(), key=lambda grade: grade.student):
            of_student = {grade.exercise: grade for grade in grades}
            some = next(iter(of_student.values()))
            points = [_canvas_points(of_student.get(name), has_extra=name in extras) for name in names]
            rows.writerow([*_canvas_about(some), *itertools.chain.from_iterable(points)])


def _headings(exercise: str, extras: set[str]) -> list[str]:
    return [exercise, f"{exercise} extra"] if exercise in extras else [exercise]


def _canvas_points(grade: GradeRow | None, *, has_extra: bool) -> list[str]:
    score, extra = (None, None) if grade is None else (grade.score, grade.extra)
    return [number(score), number(extra)] if has_extra else [number(score)]


def _canvas_about(grade: GradeRow) -> list[str]:
    columns = {name.lower(): text for name, text in grade.columns.items()}
    canvas_id, user_id, login = (next((columns[name] for name in names if name in columns), "") for names in FILLED_BY)
    if not canvas_id and grade.layout == "canvas" and grade.student.isdecimal():
        canvas_id = grade.student
    about = (grade.name or grade.student, canvas_id, user_id or grade.student, login, grade.group)
    return [cell(each) for each in about]


CANVAS = ClassExport("canvas", "canvas.csv", _write_canvas)
