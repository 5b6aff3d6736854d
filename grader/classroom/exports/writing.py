"""Export a gradebook in a chosen format, or as feedback for each student."""

import hashlib
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import structs

from grader.classroom.exports.class_page import ClassPage
from grader.classroom.exports.formats import FORMATS
from grader.classroom.exports.records import ClassExport, ExerciseLoader, Graded, VerdictExport, graded
from grader.classroom.gradebook.class_records import ABSENT, ClassRecords, GradeRow
from grader.classroom.gradebook.gradebook import NOT_JUDGED
from grader.classroom.platforms import LAYOUTS, PLATFORM_EXPORTS
from grader.errors import UsageError
from grader.report.html import render_report, render_trap_report
from grader.report.terminal import Screen, render_terminal
from grader.report.trap import render_trap
from grader.report.view import ON_PAGES, ON_SCREEN, view_of
from grader.spec.files import product_draft, write_product
from grader.spec.paths import Course
from grader.trap.result import TrapResult

EXPORTS: dict[str, ClassExport | VerdictExport] = {
    export.name: export for export in (*FORMATS, ClassPage(), *PLATFORM_EXPORTS)
}
TEXT_SCREEN = Screen(width=100, height=200)
"""The columns and lines of a text file with feedback."""

MAX_FOLDER_BYTES = 100
MAX_FAILURES = 10
"""How many of the files that could not be written are named."""

RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³]) *(\..*)?|-.*", re.IGNORECASE)
"""Names that Windows keeps for devices, and names that programs take for options."""


def export(gradebook: Path, to: str, folder: Path, course: Course, *, anonymous: bool = False) -> int:
    """Write a gradebook to a folder in a format. Return the number of files.

    Raise `UsageError` if the format has no anonymous form, or if a file cannot be written; the others are written.
    """
    chosen = EXPORTS[to]
    if anonymous:
        if not isinstance(chosen, ClassPage):
            raise UsageError(f"--anonymous works only with --to html; {to} needs the students' ids")
        chosen = ClassPage(is_anonymous=True)
    exercises = ExerciseLoader(course)
    with ClassRecords(gradebook) as records:
        _make_folder(folder)
        if isinstance(chosen, ClassExport):
            _require_no_link(folder / chosen.export_file, folder)
            with product_draft(folder / chosen.export_file) as draft:
                chosen.write_export(records, exercises, draft)
            return 1
        names = folder_names(records.students())
        return _write_all(
            folder,
            (
                (
                    folder / names[each.grade.student] / each.grade.exercise / chosen.export_file,
                    chosen.render_export(each),
                )
                for each in _verdicts(records, exercises)
            ),
        )


def write_feedback(gradebook: Path, folder: Path, exercises: ExerciseLoader) -> int:
    """Write an HTML and a text file for each verdict, on a module or on a trap. Return the number of verdicts.

    The files omit the seed: later submissions are graded with it.
    """
    with ClassRecords(gradebook) as records:
        _make_folder(folder)
        names = folder_names(records.students())
        files = (
            (folder / f"{feedback_path(each, names[each.grade.student])}.{suffix}", text)
            for each in _verdicts(records, exercises)
            for suffix, text in _feedback(each).items()
        )
        trap_files = (
            (folder / f"{_trap_path(grade, names[grade.student])}.{suffix}", text)
            for grade, result in _traps(records, exercises)
            for suffix, text in _trap_feedback(result).items()
        )
        return _write_all(folder, itertools.chain(files, trap_files)) // len(("html", "txt"))


def _feedback(each: Graded) -> dict[str, str]:
    on_page, on_screen = (
        view_of(each.verdict, each.exercise, has_seed=False, limits=limits) for limits in (ON_PAGES, ON_SCREEN)
    )
    return {"html": render_report(on_page), "txt": render_terminal(on_screen, TEXT_SCREEN)}


def _traps(records: ClassRecords, exercises: ExerciseLoader) -> Iterator[tuple[GradeRow, TrapResult]]:
    """Yield every result of a trap whose exercise the course still has, with its grade."""
    for grade in records.grades():
        result = records.trap(grade) if grade.trap_judged_in and exercises.has(grade.exercise) else None
        if result is not None:
            yield grade, result


def _trap_feedback(result: TrapResult) -> dict[str, str]:
    return {
        "html": render_trap_report(result, has_seed=False),
        "txt": render_trap(result, width=TEXT_SCREEN.width, has_seed=False),
    }


def feedback_path(each: Graded, folder_name: str) -> Path:
    """Return the path of a student's feedback without suffix: as the platform expects it, or in a folder."""
    return _platform_path(each.grade) or Path(folder_name) / each.grade.exercise / "feedback"


def _trap_path(grade: GradeRow, folder_name: str) -> Path:
    """Return the path of the feedback on a trap without suffix, which is never that of the feedback on a module."""
    found = _platform_path(structs.replace(grade, file=grade.trap_file, layout=grade.trap_layout))
    if found is None:
        return Path(folder_name) / grade.exercise / "trap"
    return found if found.name.endswith("trap") else found.with_name(f"{found.name}_trap")


def _platform_path(grade: GradeRow) -> Path | None:
    layout = next((layout for layout in LAYOUTS if layout.name == grade.layout), None)
    return layout.feedback_path(grade) if layout is not None else None


def formats_of_grades() -> list[str]:
    """Return the formats that need only grades, and so include exercises that the course no longer has."""
    return sorted(
        name for name, export in EXPORTS.items() if isinstance(export, ClassExport) and export.has_grades_only
    )


def removed_exercises(gradebook: Path, course: Course, to: str) -> list[str]:
    """Return the exercises that the course no longer has, if the format needs them."""
    if to in formats_of_grades():
        return []
    with ClassRecords(gradebook) as records:
        return [name for name in records.exercises() if not ExerciseLoader(course).has(name)]


def folder_names(students: Iterable[str]) -> dict[str, str]:
    """Return a unique folder name for each student, valid on any file system.

    On macOS and Windows, `Anna` and `anna` are the same name, and so are two encodings of an accent.
    """
    plain = {student: _plain_name(student) for student in students}
    counts = Counter(_folded(name) for name in plain.values())
    return {
        student: name
        if name == student and counts[_folded(name)] == 1 and not DIGESTED.fullmatch(name)
        else f"{name}-{_digest(student)}"
        for student, name in plain.items()
    }


DIGESTED = re.compile(r".*-[0-9a-f]{8}", re.IGNORECASE)
"""The form of generated names. A student's own name of this form is not used, so that it cannot equal a generated one.
"""


def _plain_name(student: str) -> str:
    name = re.sub(r"[^\w@. -]", "_", student).strip(". ")
    name = name.encode("utf-8", "ignore")[:MAX_FOLDER_BYTES].decode("utf-8", "ignore").strip(". ")
    return f"_{name}" if not name or RESERVED.fullmatch(name) else name


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _digest(student: str) -> str:
    return hashlib.sha256(student.encode("utf-8", "backslashreplace")).hexdigest()[:8]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be created: {error.strerror}; name another folder") from None


def _verdicts(records: ClassRecords, exercises: ExerciseLoader) -> Iterator[Graded]:
    """Yield every verdict whose exercise the course still has."""
    for grade in records.grades():
        if grade.outcome not in (ABSENT, NOT_JUDGED) and exercises.has(grade.exercise):
            yield graded(records, grade, exercises.get(grade.exercise))


def _require_no_link(path: Path, folder: Path) -> None:
    """Raise `UsageError` if a file's path below the folder that the user named is a link or leads through a link."""
    below = path.relative_to(folder).parts
    for end in range(1, len(below) + 1):
        part = folder.joinpath(*below[:end])
        if part.is_symlink():
            raise UsageError(f"{path}: not written, since {part} is a link; remove it, or name another folder")


def _write_all(folder: Path, files: Iterable[tuple[Path, str]]) -> int:
    """Write files into a folder, without following links, and return how many.

    If a file cannot be written, the others are still written, and the error names the file.
    """
    count, failures = 0, []
    for path, text in files:
        try:
            _require_no_link(path, folder)
            write_product(path, text.encode("utf-8", "backslashreplace"))
            count += 1
        except UsageError as error:
            failures.append(str(error))
    if failures:
        more = len(failures) - MAX_FAILURES
        listed = failures[:MAX_FAILURES] + ([f"{more:,} more files cannot be written"] if more > 0 else [])
        raise UsageError("\n".join(listed))
    return count
