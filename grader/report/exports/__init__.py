"""A gradebook in other programs' formats: a module here holds each, a `ClassExport` or a `VerdictExport`."""

import hashlib
import importlib
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from msgspec import Struct, structs

from grader.classroom.gradebook.class_records import ABSENT, ClassRecords, GradeRow
from grader.classroom.gradebook.gradebook import NOT_JUDGED
from grader.errors import UsageError
from grader.report.findings import full_text, reason_words
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, product_draft, write_product
from grader.verdict.attribution import DefectStatus
from grader.verdict.causes import told_causes
from grader.verdict.verdict import DefectVerdict, Result, Verdict

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a cell may begin with that a spreadsheet would take for a formula."""

MOST_FINDINGS = 3


class Graded(Struct, frozen=True):
    """A student's verdict with all that a format may say of it; `classroom` is what the gradebook is called."""

    grade: GradeRow
    verdict: Verdict
    exercise: Exercise
    classroom: str


class VerdictExport(Struct, frozen=True):
    """A format of which each student and exercise has a file of its own."""

    name: str
    file: str
    render: Callable[[Graded], str]


class ClassExport(Struct, frozen=True):
    """A format of which a class has one file."""

    name: str
    file: str
    write: "Callable[[ClassRecords, ExerciseLoader, Path, bool], None]"
    can_be_anonymous: bool = False
    is_grades_alone: bool = False


class StudentTest(Struct, frozen=True):
    """A defect, or the rest, as a test with points; students know it by its number alone until it is fixed."""

    name: str
    passed: bool
    points: float
    max_points: float
    output: str
    is_extra: bool = False


def graded(records: ClassRecords, grade: GradeRow, exercise: Exercise) -> Graded:
    """The verdict behind a grade, without defects that the exercise no longer has: it was edited since."""
    verdict = records.verdict(grade)
    known = set(exercise.numbers())
    defects = [each for each in verdict.defects if each.id in known]
    causes = {check: [each for each in behind if each in known] for check, behind in verdict.causes.items()}
    fitting = structs.replace(verdict, defects=defects, causes={check: each for check, each in causes.items() if each})
    return Graded(grade, fitting, exercise, records.path.stem)


def student_tests(verdict: Verdict, exercise: Exercise) -> list[StudentTest]:
    """The verdict as tests, in the order of the defects' numbers; nothing in them names a defect that is not fixed."""
    if verdict.outcome is Result.NOT_GRADABLE:
        return [StudentTest("Can be graded", False, 0.0, verdict.max_score, verdict.reason or "")]
    numbers = exercise.numbers()
    found: dict[str, list[str]] = {defect.id: [] for defect in exercise.defects}
    for cause in told_causes(verdict):
        for defect_id in cause.defects:
            found[defect_id].append(full_text(cause.finding))
    ordered = sorted(verdict.defects, key=lambda each: numbers[each.id])
    tests = [_of_defect(each, exercise, numbers[each.id], found[each.id]) for each in ordered]
    is_whole = verdict.outcome is Result.FIXED
    points = exercise.nothing_else_broke
    broken = [full_text(each.finding) for each in verdict.checks if each.check in verdict.regressions and each.finding]
    output = "\n".join(broken[:MOST_FINDINGS]) or ("" if is_whole else "counted once every defect is fixed")
    return [*tests, StudentTest("Nothing else broke", is_whole, points if is_whole else 0.0, points, output)]


def _of_defect(defect: DefectVerdict, exercise: Exercise, number: int, findings: list[str]) -> StudentTest:
    described = next(each for each in exercise.defects if each.id == defect.id)
    is_fixed = defect.status is DefectStatus.FIXED
    if is_fixed:
        output = f"Fixed: {described.title.strip().rstrip('.')}. {described.story()}"
    elif defect.status is DefectStatus.UNKNOWN:
        output = f"Not known: {reason_words(defect.reason) if defect.reason else ''}"
    else:
        output = "\n".join(("Still there.", *findings[:MOST_FINDINGS]))
    name = f"Defect {number}{' (extra)' if defect.stretch else ''}"
    return StudentTest(name, is_fixed, defect.points, defect.max_points, output, defect.stretch)


def folder_name(student: str) -> str:
    """A name that any file system takes and no other student's becomes."""
    plain = re.sub(r"[^\w@. -]", "_", student).strip(". ")[:100]
    if plain and plain == student:
        return plain
    return f"{plain}-{hashlib.sha256(student.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"


def cell(text: str) -> str:
    """Text as a spreadsheet's cell: never a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def number(value: float | None) -> str:
    """Points without a needless dot; nothing where there are none."""
    return "" if value is None else f"{value:g}"


def export_names() -> list[str]:
    """The formats there are."""
    return sorted(_exports())


def export(gradebook: Path, to: str, folder: Path, course: Course, *, anonymous: bool = False) -> int:
    """Write a gradebook to a folder in a format: one file for the class, or one for each student and exercise.

    Returns how many. `UsageError` where the format, the gradebook or the folder cannot be meant.
    """
    chosen = _exports()[to]
    if anonymous and not (isinstance(chosen, ClassExport) and chosen.can_be_anonymous):
        raise UsageError(f"--anonymous is for a page that people look at, --to html; {to} needs the ids")
    with ClassRecords(gradebook) as records:
        make_folder(folder)
        if isinstance(chosen, ClassExport):
            with product_draft(folder / chosen.file) as draft:
                chosen.write(records, ExerciseLoader(course), draft, anonymous)
            return 1
        return _write_verdicts(records, ExerciseLoader(course), folder, chosen)


class ExerciseLoader:
    """The course's exercises as they are now, each loaded once."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self.get = cache(self._load)

    def has(self, exercise_id: str) -> bool:
        """Whether the course has it still: a gradebook remembers what was taken out."""
        return self._course.description(exercise_id).is_file()

    def _load(self, exercise_id: str) -> Exercise:
        return load_exercise(self._course.description(exercise_id))


def make_folder(folder: Path) -> None:
    """Make the folder. `UsageError` where that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}; name another folder") from None


def has_file(grade: GradeRow, exercises: ExerciseLoader) -> bool:
    """Whether a student has a file about it: there is a verdict, and an exercise that tells what it means."""
    return grade.outcome not in (ABSENT, NOT_JUDGED) and exercises.has(grade.exercise)


def left_out(gradebook: Path, course: Course, to: str) -> list[str]:
    """The exercises that the course has no more, of which a format tells nothing unless it has grades alone."""
    if getattr(_exports().get(to), "is_grades_alone", False):
        return []
    with ClassRecords(gradebook) as records:
        return [name for name in records.exercises() if not ExerciseLoader(course).has(name)]


def _write_verdicts(records: ClassRecords, exercises: ExerciseLoader, folder: Path, chosen: VerdictExport) -> int:
    count = 0
    for grade in records.grades():
        if not has_file(grade, exercises):
            continue
        target = folder / folder_name(grade.student) / grade.exercise / chosen.file
        text = chosen.render(graded(records, grade, exercises.get(grade.exercise)))
        write_product(target, text.encode("utf-8", "backslashreplace"))
        count += 1
    return count


@cache
def _exports() -> dict[str, ClassExport | VerdictExport]:
    found: dict[str, ClassExport | VerdictExport] = {}
    for module in pkgutil.iter_modules(__path__):
        made = vars(importlib.import_module(f"{__name__}.{module.name}")).values()
        found |= {each.name: each for each in made if isinstance(each, ClassExport | VerdictExport)}
    return found
