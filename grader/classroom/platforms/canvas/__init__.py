"""Canvas: an archive of flat files, a gradebook in CSV, and feedback under the names of the files."""

import csv
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from grader.classroom.exports.records import ClassExport, ExerciseLoader, cell, number
from grader.classroom.gradebook.class_records import ClassRecords, GradeRow
from grader.classroom.layouts.files import SkippedFiles, SkippedKind, storable
from grader.classroom.layouts.units import File, Unit
from grader.classroom.platforms.names import first_part, short_name
from grader.classroom.platforms.platform import PlatformLayout

FILE_NAME = re.compile(r"(?P<name>.+?)(?P<ids>_(?:LATE_)?(?P<user>\d+)_\d+_)(?P<file>.+)")
MOODLE_MARK = "_assignsubmission_"

ABOUT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
PLAIN_ID = re.compile(r"[+@-]?[\w.@+-]*")
"""An id that is exported unchanged, because Canvas needs it so and no spreadsheet reads it as a formula."""

ROSTER_COLUMNS = (
    ("canvas_id", "canvas id"),
    ("sis_user_id", "sis user id", "sis_id"),
    ("sis_login_id", "sis login id", "login"),
)
"""The roster's columns that fill Canvas's ID, SIS User ID and SIS Login ID."""


class Canvas(PlatformLayout, ClassExport):
    """Files such as lastname_12345_67890_attention.py, with LATE in the name of a late one."""

    name = "canvas"
    rank = 3
    is_class_export = True
    export_file = "canvas.csv"
    has_grades_only = True

    def count(self, root: Path, names: list[str]) -> int:
        return sum(bool(FILE_NAME.fullmatch(name)) and MOODLE_MARK not in name for name in names)

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        users: dict[tuple[str, str], list[re.Match[str]]] = {}
        for name in names:
            match = FILE_NAME.fullmatch(name)
            if match:
                users.setdefault((match["user"], storable(match["name"])), []).append(match)
            else:
                skipped.add(SkippedKind.STRAY, storable(name))
        for (user, name), matches in users.items():
            loose = tuple(File(path=match[0], name=match["file"]) for match in matches)
            yield Unit(student=user, loose=loose, name=name, aliases=(user, name))

    def feedback_path(self, grade: GradeRow) -> Path | None:
        match = FILE_NAME.fullmatch(first_part(grade.file))
        if not match:
            return None
        stem = Path(match["file"]).stem
        ending = "" if grade.exercise in stem else f"_{grade.exercise}"
        return Path(short_name((match["name"], stem), (match["ids"], ending)))

    def write_export(self, records: ClassRecords, exercises: ExerciseLoader, path: Path) -> None:
        """Write a column for each exercise. Canvas asks before it turns an unknown column into an assignment."""
        names = records.exercises()
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            worth = {name: _worth(records, exercises, name) for name in names}
            extras = {name for name in names if worth[name][1]}
            rows.writerow([*ABOUT, *itertools.chain.from_iterable(_headings(name, extras) for name in names)])
            possible = [[number(worth[name][0]), *(["0"] if name in extras else [])] for name in names]
            rows.writerow(["    Points Possible", *[""] * (len(ABOUT) - 1), *itertools.chain.from_iterable(possible)])
            for _, grades in itertools.groupby(records.grades(), key=lambda grade: grade.student):
                by_exercise = {grade.exercise: grade for grade in grades}
                first = next(iter(by_exercise.values()))
                points = [_points(by_exercise.get(name), has_extra=name in extras) for name in names]
                rows.writerow([*_about(first), *itertools.chain.from_iterable(points)])


def _worth(records: ClassRecords, exercises: ExerciseLoader, name: str) -> tuple[float | None, bool]:
    """Return an exercise's points and whether it has extras. For a removed exercise, use its last verdicts."""
    if not exercises.has(name):
        return records.worth(name)
    exercise = exercises.get(name)
    return exercise.max_score(), any(defect.stretch for defect in exercise.defects)


def _headings(exercise: str, extras: set[str]) -> list[str]:
    return [exercise, f"{exercise} extra"] if exercise in extras else [exercise]


def _points(grade: GradeRow | None, *, has_extra: bool) -> list[str]:
    score, extra = (None, None) if grade is None else (grade.score, grade.extra)
    return [number(score), number(extra)] if has_extra else [number(score)]


def _about(grade: GradeRow) -> list[str]:
    columns = {name.lower(): text for name, text in grade.columns.items()}
    canvas_id, user_id, login = (
        next((columns[name] for name in names if name in columns), "") for names in ROSTER_COLUMNS
    )
    # the number in a file's name is Canvas's own id of the user, whatever id the roster gives the student
    match = FILE_NAME.match(grade.file) if grade.layout == Canvas.name else None
    if not canvas_id and match:
        canvas_id = match["user"]
    if not user_id and grade.student != canvas_id:
        user_id = grade.student
    ids = (each if PLAIN_ID.fullmatch(each) else cell(each) for each in (canvas_id, user_id, login))
    return [cell(grade.name or grade.student), *ids, cell(grade.group)]
