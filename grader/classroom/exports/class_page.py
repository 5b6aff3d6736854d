"""A class as one HTML page that sorts and filters without a server."""

import hmac
import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from grader.classroom.exports.records import ClassExport, ExerciseLoader, number
from grader.classroom.gradebook.class_records import ABSENT, ClassRecords, GradeRow
from grader.report.printable import printable
from grader.report.rendering import page_templates
from grader.spec.exercise import Exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result

WRONG_VALUES = 3
PSEUDONYM_LENGTH = 10
MARKS = {DefectStatus.FIXED: "f", DefectStatus.PRESENT: "p", DefectStatus.UNKNOWN: "u"}


class ClassPage(ClassExport):
    """The class at a glance: a panel for each exercise, and a table of students."""

    name = "html"
    export_file = "index.html"

    def __init__(self, *, is_anonymous: bool = False) -> None:
        """An anonymous page has pseudonyms, always the same ones, and names no defect."""
        self._is_anonymous = is_anonymous

    def write_export(self, records: ClassRecords, exercises: ExerciseLoader, path: Path) -> None:
        """Write the page.

        Rows are stored in a temporary file until everything above them is counted, so that a large class needs no more
        memory. Rows of an anonymous page are sorted, because the order of the gradebook would reveal the students.
        """
        names = [name for name in records.exercises() if exercises.has(name)]
        loaded = {name: exercises.get(name) for name in names}
        summaries = {name: Summary() for name in names}
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace") as spool:
            students = 0
            for row in _rows(records, loaded, summaries, anonymous=self._is_anonymous):
                students += 1
                spool.write(f"{_embedded(row)}\n")
            spool.seek(0)
            days = records.verdicts_by_day()
            most = max((count for _, count in days), default=1)
            template: Any = page_templates("grader.report").get_template("class.html.j2")
            page = template.stream(
                title="Class" if self._is_anonymous else printable(records.path.stem),
                panels=[_panel(records, loaded[name], summaries[name], anonymous=self._is_anonymous) for name in names],
                days=[(day, count, round(100 * count / most)) for day, count in days],
                students=students,
                exercises=_embedded([[name, _numbers(loaded[name]), loaded[name].max_score()] for name in names]),
                rows=map(Markup, sorted(spool) if self._is_anonymous else spool),
            )
            with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
                page.dump(file)


class Summary:
    """Counts of an exercise over the class."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()
        self.score = 0.0
        self.judged = 0


def _rows(
    records: ClassRecords, exercises: dict[str, Exercise], summaries: dict[str, Summary], *, anonymous: bool
) -> Iterator[list[Any]]:
    """Yield the table's row of each student, and count each grade."""
    key = records.pseudonym_key()
    for _, grades in itertools.groupby(records.grades(), key=lambda grade: grade.student):
        about: tuple[str, str] = ("", "")
        cells = {}
        for grade in (each for each in grades if each.exercise in exercises):
            about = _name_and_group(grade, key, anonymous=anonymous)
            cells[grade.exercise] = [grade.outcome, grade.score, _count(records, grade, exercises, summaries)]
        if cells:
            yield [*about, [cells.get(name) for name in exercises]]


def pseudonym(student: str, key: str) -> str:
    """Return a name that is always the same for a student. Only the gradebook's key links it to the student."""
    digest = hmac.new(key.encode(), student.encode("utf-8", "backslashreplace"), "sha256").hexdigest()
    return f"student {digest[:PSEUDONYM_LENGTH]}"


def _name_and_group(grade: GradeRow, key: str, *, anonymous: bool) -> tuple[str, str]:
    if anonymous:
        return pseudonym(grade.student, key), ""
    name = f"{grade.name} ({grade.student})" if grade.name else grade.student
    return printable(name), printable(grade.group)


def _count(
    records: ClassRecords, grade: GradeRow, exercises: dict[str, Exercise], summaries: dict[str, Summary]
) -> str:
    """Count a grade. Return a letter for each defect, in the order of their numbers."""
    summary = summaries[grade.exercise]
    summary.outcomes[grade.outcome] += 1
    if grade.score is not None:
        summary.score += grade.score
        summary.judged += 1
    statuses = dict(records.defects(grade)) if grade.verdict else {}
    summary.missed.update(defect for defect, status in statuses.items() if status == DefectStatus.PRESENT)
    numbers = exercises[grade.exercise].numbers()
    ordered = sorted(numbers, key=lambda defect: numbers[defect])
    return "".join(MARKS[DefectStatus(statuses[defect])] if defect in statuses else "-" for defect in ordered)


def _numbers(exercise: Exercise) -> list[int]:
    return sorted(exercise.numbers().values())


def _panel(records: ClassRecords, exercise: Exercise, summary: Summary, *, anonymous: bool) -> dict[str, Any]:
    """Return the values of an exercise's panel above the table."""
    submitted = sum(count for outcome, count in summary.outcomes.items() if outcome != ABSENT)
    fixed = summary.outcomes[Result.FIXED]
    average = number(round(summary.score / max(summary.judged, 1), 2))
    mean = f"{average} of {number(exercise.max_score())}" if summary.judged else ""
    panel: dict[str, Any] = {
        "name": exercise.id,
        "title": exercise.title,
        "rate": round(100 * fixed / submitted) if submitted else 0,
        "counts": ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in summary.outcomes.most_common()),
        "mean": mean,
        "missed": "",
        "values": [],
        "traps": "",
        "catches": [],
    }
    traps = records.trap_summary(exercise.id)
    if traps.traps:
        mean_of_traps = f"{number(round(traps.mean or 0.0, 2))} of {number(traps.max_score)}"
        panel["traps"] = f"{traps.traps:,} trap{'s' if traps.traps != 1 else ''}; mean score {mean_of_traps}"
        panel["catches"] = [
            (f"{'extra' if is_extra else 'defect'} {place}", f"{caught:,} of {traps.traps:,}")
            for place, is_extra, caught in traps.catches
        ]
    numbers = exercise.numbers()
    missed = {defect: count for defect, count in summary.missed.items() if defect in numbers}
    if missed:
        defect = max(missed, key=lambda each: (missed[each], -numbers[each]))
        count = missed[defect]
        name = f"defect {numbers[defect]}" + ("" if anonymous else f" ({defect})")
        panel["missed"] = f"{name}, by {count:,} of {submitted:,}"
        panel["values"] = [
            (printable(text), f"{count:,}") for text, count in records.wrong_values(exercise.id, defect, WRONG_VALUES)
        ]
    return panel


def _embedded(data: Any) -> Markup:
    """Return JSON that cannot end the HTML element that contains it."""
    text = msgspec.json.encode(data).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - all characters with a meaning in HTML are escaped
