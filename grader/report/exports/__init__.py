"""A gradebook in other programs' formats: a module here holds each, a `ClassExport` or a `VerdictExport`."""

import importlib
import pkgutil
from functools import cache
from pathlib import Path

from msgspec import Struct

from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.course.records import Exercise
from grader.errors import UsageError
from grader.gradebook.class_records import ABSENT, ClassRecords
from grader.gradebook.gradebook import NOT_JUDGED
from grader.report.exports.formats import ClassExport, VerdictExport, folder_name, graded


class Exported(Struct, frozen=True):
    """How many files were written."""

    files: int


def export_names() -> list[str]:
    """The formats there are."""
    return sorted(_exports())


def export(gradebook: Path, to: str, folder: Path, course: Course, *, anonymous: bool = False) -> Exported:
    """Write a gradebook to a folder in a format: one file for the class, or one for each student and exercise.

    `UsageError` where the format, the gradebook or the folder cannot be meant.
    """
    chosen = _exports()[to]
    if anonymous and not (isinstance(chosen, ClassExport) and chosen.can_be_anonymous):
        raise UsageError(f"--anonymous is for a page that people look at, --to html; {to} needs the ids")
    with ClassRecords(gradebook) as records:
        make_folder(folder)
        if isinstance(chosen, ClassExport):
            chosen.write(records, Exercises(course), folder / chosen.file, anonymous)
            return Exported(1)
        return Exported(_write_verdicts(records, Exercises(course), folder, chosen))


class Exercises:
    """The course's exercises as they are now, each loaded once."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self.get = cache(self._load)

    def _load(self, exercise_id: str) -> Exercise:
        return load_exercise(self._course.description(exercise_id))


def make_folder(folder: Path) -> None:
    """Make the folder. `UsageError` where that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}; name another folder") from None


def _write_verdicts(records: ClassRecords, exercises: Exercises, folder: Path, chosen: VerdictExport) -> int:
    count = 0
    for grade in records.grades():
        if grade.outcome in (ABSENT, NOT_JUDGED):
            continue
        target = folder / folder_name(grade.student) / grade.exercise / chosen.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(chosen.render(graded(records, grade, exercises.get(grade.exercise))), encoding="utf-8")
        count += 1
    return count


@cache
def _exports() -> dict[str, ClassExport | VerdictExport]:
    found: dict[str, ClassExport | VerdictExport] = {}
    for module in pkgutil.iter_modules(__path__):
        made = vars(importlib.import_module(f"{__name__}.{module.name}")).values()
        found |= {each.name: each for each in made if isinstance(each, ClassExport | VerdictExport)}
    return found
