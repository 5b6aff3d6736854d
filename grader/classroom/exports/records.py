"""The parts of an export: a verdict with its exercise, the tests that a student may see, and cells."""

import re
from abc import abstractmethod
from functools import cache
from pathlib import Path
from typing import ClassVar

from msgspec import Struct, structs

from grader.classroom.gradebook.class_records import ClassRecords, GradeRow
from grader.report.causes import shown_causes
from grader.report.check_names import check_names
from grader.report.findings import full_text, reason_words
from grader.report.phrases import hides_count, shown_defects, story
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import DefectVerdict, Result, Verdict

FORMULA = re.compile(r"(?:^|(?<=[;,|\t\r\n]))(?=[\s\"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
"""The places where a spreadsheet may see the beginning of a formula, with any separator between cells, and also after a
quotation mark."""

MAX_FINDINGS = 3

ALL_FIXED = "Everything fixed, and nothing else broken"
"""The name of the test with the points that are left."""


class Graded(Struct, frozen=True, kw_only=True):
    """A student's verdict with its exercise; `classroom` is the name of the gradebook."""

    grade: GradeRow
    verdict: Verdict
    exercise: Exercise
    classroom: str


class ExerciseLoader:
    """The course's current exercises, each loaded once."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self.get = cache(self._load)

    def has(self, exercise_id: str) -> bool:
        """Return whether the course still has the exercise. A gradebook also has exercises that were removed."""
        return self._course.description(exercise_id).is_file()

    def _load(self, exercise_id: str) -> Exercise:
        return load_exercise(self._course.description(exercise_id))


class VerdictExport:
    """A format with a file for each student and exercise."""

    name: ClassVar[str]
    export_file: ClassVar[str]

    @abstractmethod
    def render_export(self, graded: Graded) -> str:
        """Return the file's text."""


class ClassExport:
    """A format with one file for the class."""

    name: ClassVar[str]
    export_file: ClassVar[str]
    has_grades_only: ClassVar[bool] = False
    """Whether the format needs only grades, so that it also exports exercises that the course no longer has."""

    @abstractmethod
    def write_export(self, records: ClassRecords, exercises: ExerciseLoader, path: Path) -> None:
        """Write the file row by row, because a class may be large."""


class StudentTest(Struct, frozen=True, kw_only=True):
    """A defect, or `nothing else broke`, as a test with points. A defect is a number until it is fixed."""

    name: str
    passed: bool
    points: float
    max_points: float
    output: str
    is_extra: bool = False


def graded(records: ClassRecords, grade: GradeRow, exercise: Exercise) -> Graded:
    """Return the verdict of a grade, without defects that the exercise no longer has."""
    verdict = records.verdict(grade)
    known = set(exercise.numbers())
    defects = [each for each in verdict.defects if each.id in known]
    causes = {check: [each for each in ids if each in known] for check, ids in verdict.causes.items()}
    fitting = structs.replace(verdict, defects=defects, causes={check: each for check, each in causes.items() if each})
    return Graded(grade=grade, verdict=fitting, exercise=exercise, classroom=records.path.stem)


def student_tests(verdict: Verdict, exercise: Exercise) -> list[StudentTest]:
    """Return the verdict as tests in the order of the defects' numbers. Only fixed defects are named.

    If the student is not told how many defects there are, the last test has all points that are not earned yet.
    """
    if verdict.outcome is Result.NOT_GRADABLE:
        reason = verdict.reason or ""
        return [
            StudentTest(name="Can be graded", passed=False, points=0.0, max_points=verdict.max_score, output=reason)
        ]
    numbers = exercise.numbers()
    findings: dict[str, list[str]] = {defect.id: [] for defect in exercise.defects}
    for cause in shown_causes(verdict):
        for defect_id in cause.defects:
            findings[defect_id].append(full_text(cause.finding))
    shown = shown_defects(verdict, exercise)
    tests = [_test_of_defect(each, exercise, numbers[each.id], findings[each.id]) for each in shown]
    if not hides_count(verdict, exercise):
        return [*tests, _test_of_everything_else(verdict, exercise)]
    tests = [each if each.passed else structs.replace(each, max_points=0.0) for each in tests]
    earned = sum(each.max_points for each in tests if not each.is_extra)
    remaining = structs.replace(
        _test_of_everything_else(verdict, exercise), name=ALL_FIXED, max_points=verdict.max_score - earned
    )
    return [*tests, remaining]


def _test_of_everything_else(verdict: Verdict, exercise: Exercise) -> StudentTest:
    is_fixed = verdict.outcome is Result.FIXED
    points = exercise.nothing_else_broke
    broken = [full_text(each.finding) for each in verdict.checks if each.check in verdict.regressions and each.finding]
    return StudentTest(
        name="Nothing else broke",
        passed=is_fixed,
        points=points if is_fixed else 0.0,
        max_points=points,
        output="\n".join(broken[:MAX_FINDINGS]) or ("" if is_fixed else "awarded once every defect is fixed"),
    )


def _test_of_defect(defect: DefectVerdict, exercise: Exercise, number: int, findings: list[str]) -> StudentTest:
    described = next(each for each in exercise.defects if each.id == defect.id)
    is_fixed = defect.status is DefectStatus.FIXED
    if is_fixed:
        output = f"Fixed: {described.title.strip().rstrip('.')}. {story(described)}"
    elif defect.status is DefectStatus.UNKNOWN:
        output = f"Can't tell yet: {reason_words(defect.reason, check_names(exercise)) if defect.reason else ''}"
    else:
        output = "\n".join(("Still there.", *findings[:MAX_FINDINGS]))
    return StudentTest(
        name=f"Defect {number}{' (extra)' if defect.stretch else ''}",
        passed=is_fixed,
        points=defect.points,
        max_points=defect.max_points,
        output=output,
        is_extra=defect.stretch,
    )


def cell(text: str) -> str:
    """Return text for a cell, in a form that no spreadsheet interprets as a formula."""
    return FORMULA.sub("'", text)


def number(value: float | None) -> str:
    """Return points as text, such as 10 or 2.5; nothing for None."""
    return "" if value is None else f"{value:g}"
