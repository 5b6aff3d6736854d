"""Canvas' gradebook: a row for each student, a column for each exercise and one for its extras."""

import csv
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from grader.gradebook.class_records import ClassRecords, GradeRow
from grader.report.exports.formats import ClassExport, cell, number

if TYPE_CHECKING:
    from grader.report.exports import Exercises

COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
IDS = (("canvas_id", "canvas id"), ("sis_user_id", "sis user id", "sis_id"), ("sis_login_id", "sis login id", "login"))
"""By which of the roster's columns Canvas' own are filled."""


def write(records: ClassRecords, exercises: "Exercises", path: Path, _anonymous: bool) -> None:
    """Canvas takes a column whose name is no assignment of its own for a new one, and asks."""
    names = records.exercises()
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        extras = {name for name in names if any(defect.stretch for defect in exercises.get(name).defects)}
        rows.writerow([*COLUMNS, *itertools.chain.from_iterable(_columns(name, extras) for name in names)])
        possible = [[number(exercises.get(name).max_score()), *(["0"] if name in extras else [])] for name in names]
        rows.writerow(["    Points Possible", *[""] * (len(COLUMNS) - 1), *itertools.chain.from_iterable(possible)])
        for _, grades in itertools.groupby(records.grades(), key=lambda grade: grade.student):
            of_student = {grade.exercise: grade for grade in grades}
            some = next(iter(of_student.values()))
            points = [_points(of_student.get(name), has_extra=name in extras) for name in names]
            rows.writerow([*_about(some), *itertools.chain.from_iterable(points)])


def _columns(exercise: str, extras: set[str]) -> list[str]:
    return [exercise, f"{exercise} extra"] if exercise in extras else [exercise]


def _points(grade: GradeRow | None, *, has_extra: bool) -> list[str]:
    score, extra = (None, None) if grade is None else (grade.score, grade.extra)
    return [number(score), number(extra)] if has_extra else [number(score)]


def _about(grade: GradeRow) -> list[str]:
    columns = {name.lower(): text for name, text in grade.columns.items()}
    canvas_id, user_id, login = (next((columns[name] for name in names if name in columns), "") for names in IDS)
    if not canvas_id and grade.layout == "canvas" and grade.student.isdecimal():
        canvas_id = grade.student
    about = (grade.name or grade.student, canvas_id, user_id or grade.student, login, grade.group)
    return [cell(each) for each in about]


EXPORT = ClassExport("canvas", "canvas.csv", write)
