"""Formats of which a class has one file: a CSV, Canvas' gradebook, and a page that sorts and filters by itself."""

import csv
import hmac
import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct, field

from grader.classroom.gradebook.class_records import ABSENT, CANVAS_NAME, ClassRecords, GradeRow
from grader.report.console import printable
from grader.report.exports import ClassExport, ExerciseLoader, cell, number
from grader.spec.exercise import Exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result

CSV_COLUMNS = (
    *("student", "name", "group", "exercise", "outcome", "score", "max_score", "extra", "max_extra", "attempts"),
    *("submitted_at", "judged_at", "reason", "remark", "file"),
)


def _write_csv(records: ClassRecords, _exercises: ExerciseLoader, path: Path, _anonymous: bool) -> None:
    """Rows as they are read."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(CSV_COLUMNS)
        for grade in records.grades():
            points = map(number, (grade.score, grade.max_score, grade.extra, grade.max_extra))
            before = map(cell, (grade.student, grade.name, grade.group, grade.exercise, grade.outcome))
            after = map(cell, (grade.submitted_at, grade.judged_at, grade.reason, grade.remark, grade.file))
            rows.writerow([*before, *points, grade.attempts, *after])


GRADES_CSV = ClassExport("csv", "grades.csv", _write_csv, is_grades_alone=True)


ABOUT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
FILLED_BY = (
    ("canvas_id", "canvas id"),
    ("sis_user_id", "sis user id", "sis_id"),
    ("sis_login_id", "sis login id", "login"),
)
"""By which of the roster's columns Canvas' own are filled."""


def _write_canvas(records: ClassRecords, exercises: ExerciseLoader, path: Path, _anonymous: bool) -> None:
    """Canvas takes a column whose name is no assignment of its own for a new one, and asks."""
    names = records.exercises()
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        worth = {name: _worth(records, exercises, name) for name in names}
        extras = {name for name in names if worth[name][1]}
        rows.writerow([*ABOUT, *itertools.chain.from_iterable(_headings(name, extras) for name in names)])
        possible = [[number(worth[name][0]), *(["0"] if name in extras else [])] for name in names]
        rows.writerow(["    Points Possible", *[""] * (len(ABOUT) - 1), *itertools.chain.from_iterable(possible)])
        for _, grades in itertools.groupby(records.grades(), key=lambda grade: grade.student):
            of_student = {grade.exercise: grade for grade in grades}
            some = next(iter(of_student.values()))
            points = [_canvas_points(of_student.get(name), has_extra=name in extras) for name in names]
            rows.writerow([*_canvas_about(some), *itertools.chain.from_iterable(points)])


def _worth(records: ClassRecords, exercises: ExerciseLoader, name: str) -> tuple[float | None, bool]:
    """The points that an exercise gives and whether it has extras; as they were, where the course has it no more."""
    if not exercises.has(name):
        return records.worth(name)
    exercise = exercises.get(name)
    return exercise.max_score(), any(defect.stretch for defect in exercise.defects)


def _headings(exercise: str, extras: set[str]) -> list[str]:
    return [exercise, f"{exercise} extra"] if exercise in extras else [exercise]


def _canvas_points(grade: GradeRow | None, *, has_extra: bool) -> list[str]:
    score, extra = (None, None) if grade is None else (grade.score, grade.extra)
    return [number(score), number(extra)] if has_extra else [number(score)]


def _canvas_about(grade: GradeRow) -> list[str]:
    columns = {name.lower(): text for name, text in grade.columns.items()}
    canvas_id, user_id, login = (next((columns[name] for name in names if name in columns), "") for names in FILLED_BY)
    # what Canvas hands out bears its own number of the user, whatever id the roster gives the student
    named = CANVAS_NAME.match(grade.file) if grade.layout == "canvas" else None
    if not canvas_id and named:
        canvas_id = named["user"]
    if not user_id and grade.student != canvas_id:
        user_id = grade.student
    about = (grade.name or grade.student, canvas_id, user_id, login, grade.group)
    return [cell(each) for each in about]


CANVAS = ClassExport("canvas", "canvas.csv", _write_canvas, is_grades_alone=True)


WRONG_VALUES = 3
PSEUDONYM_LENGTH = 10
MARKS = {DefectStatus.FIXED: "f", DefectStatus.PRESENT: "p", DefectStatus.UNKNOWN: "u"}


class Summary(Struct):
    """What is counted of an exercise."""

    outcomes: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    score: float = 0.0
    judged: int = 0


def _write_page(records: ClassRecords, exercises: ExerciseLoader, path: Path, anonymous: bool) -> None:
    """Pseudonyms are the same whenever the gradebook is exported; an anonymous page names no defect either.

    Rows wait in a file until everything above them is counted, so that memory stays flat however many there are.
    An anonymous page's are sorted first: in the gradebook's order whoever has the class list would know each of them.
    """
    names = [name for name in records.exercises() if exercises.has(name)]
    opened = {name: exercises.get(name) for name in names}
    summaries = {name: Summary() for name in names}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace") as spool:
        students = 0
        for row in _rows(records, opened, summaries, anonymous=anonymous):
            students += 1
            spool.write(f"{_embedded(row)}\n")
        spool.seek(0)
        days = records.verdicts_by_day()
        most = max((count for _, count in days), default=1)
        page = _template().stream(
            title="Class" if anonymous else records.path.stem,
            panels=[_panel(records, opened[name], summaries[name], anonymous=anonymous) for name in names],
            days=[(day, count, round(100 * count / most)) for day, count in days],
            students=students,
            exercises=_embedded([[name, _numbers(opened[name]), opened[name].max_score()] for name in names]),
            rows=map(Markup, sorted(spool) if anonymous else spool),
        )
        with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
            page.dump(file)


def _rows(
    records: ClassRecords, exercises: dict[str, Exercise], summaries: dict[str, Summary], *, anonymous: bool
) -> Iterator[list[Any]]:
    """What the table shows of each student, one after the other; each grade is counted."""
    key = records.pseudonym_key()
    for _, grades in itertools.groupby(records.grades(), key=lambda grade: grade.student):
        called: tuple[str, str] = ("", "")
        shown = {}
        for grade in (each for each in grades if each.exercise in exercises):
            called = _called(grade, key, anonymous=anonymous)
            shown[grade.exercise] = [grade.outcome, grade.score, _count(records, grade, exercises, summaries)]
        yield [*called, [shown.get(name) for name in exercises]]


def pseudonym(student: str, key: str) -> str:
    """Always the same for a student of a gradebook; without the gradebook nobody finds out who it is."""
    digest = hmac.new(key.encode(), student.encode("utf-8", "backslashreplace"), "sha256").hexdigest()
    return f"student {digest[:PSEUDONYM_LENGTH]}"


def _called(grade: GradeRow, key: str, *, anonymous: bool) -> tuple[str, str]:
    if anonymous:
        return pseudonym(grade.student, key), ""
    called = f"{grade.name} ({grade.student})" if grade.name else grade.student
    return printable(called), printable(grade.group)


def _count(
    records: ClassRecords, grade: GradeRow, exercises: dict[str, Exercise], summaries: dict[str, Summary]
) -> str:
    """A letter for each defect, in the order of their numbers, and the grade counted."""
    summary = summaries[grade.exercise]
    summary.outcomes[grade.outcome] += 1
    if grade.score is not None:
        summary.score += grade.score
        summary.judged += 1
    found = dict(records.defects(grade)) if grade.verdict else {}
    summary.missed.update(defect for defect, status in found.items() if status == DefectStatus.PRESENT)
    numbers = exercises[grade.exercise].numbers()
    ordered = sorted(numbers, key=lambda defect: numbers[defect])
    return "".join(MARKS[DefectStatus(found[defect])] if defect in found else "-" for defect in ordered)


def _numbers(exercise: Exercise) -> list[int]:
    return sorted(exercise.numbers().values())


def _panel(records: ClassRecords, exercise: Exercise, summary: Summary, *, anonymous: bool) -> dict[str, Any]:
    """What is shown of one exercise above the table."""
    handed_in = sum(count for outcome, count in summary.outcomes.items() if outcome != ABSENT)
    fixed = summary.outcomes[Result.FIXED]
    average = number(round(summary.score / max(summary.judged, 1), 2))
    mean = f"{average} of {number(exercise.max_score())}" if summary.judged else ""
    panel: dict[str, Any] = {
        "name": exercise.id,
        "title": exercise.title,
        "rate": round(100 * fixed / handed_in) if handed_in else 0,
        "counts": ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in summary.outcomes.most_common()),
        "mean": mean,
        "missed": "",
        "values": [],
    }
    numbers = exercise.numbers()
    missed = {defect: count for defect, count in summary.missed.items() if defect in numbers}
    if missed:
        defect = max(missed, key=lambda each: (missed[each], -numbers[each]))
        count = missed[defect]
        name = f"defect {numbers[defect]}" + ("" if anonymous else f" ({defect})")
        panel["missed"] = f"{name}, by {count:,} of {handed_in:,}"
        panel["values"] = [
            (printable(text), f"{count:,}") for text, count in records.wrong_values(exercise.id, defect, WRONG_VALUES)
        ]
    return panel


def _embedded(data: Any) -> Markup:
    """JSON that ends no element, whatever it holds."""
    text = msgspec.json.encode(data).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - nothing that HTML would read is left in it


@cache
def _template() -> Any:
    loader = PackageLoader("grader.report", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined).get_template("class.html.j2")


CLASS_PAGE = ClassExport("html", "index.html", _write_page, can_be_anonymous=True)
