"""What an autograder package runs: a student's files as a platform hands them over, judged, in the platform's words."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from grader.checks.outcome import Finding
from grader.classroom.gradebook.rows import time_text
from grader.classroom.layouts.archives import Unpacker
from grader.classroom.layouts.files import SkippedFiles
from grader.classroom.layouts.units import Unit, UnitSubmissions
from grader.classroom.tasks import SubmissionLoader
from grader.processes.fork import is_true_in_fork
from grader.report.console import printable
from grader.report.exports.platforms import HandedIn, render_classroom50, render_gradescope, render_prairielearn
from grader.report.html import render_report
from grader.report.phrases import open_layers, points, result_words
from grader.report.terminal import render_terminal
from grader.sandbox.layers import readable_folders
from grader.sandbox.sandbox import become_nobody, drop_capabilities
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, write_product
from grader.submission.choice import Choice
from grader.verdict.judge import MAX_SEED, judge_file
from grader.verdict.verdict import Verdict, not_gradable

PAGE_WIDTH = 100
REPORT = "report.html"


class OneStudent:
    """The layout of a platform that hands over a single student's folder."""

    NAME = "one student"

    def __init__(self, exercise_id: str) -> None:
        self._exercise_id = exercise_id

    def units(self, root: Path, names: list[str], skipped: SkippedFiles) -> Iterator[Unit]:
        """The root, whole."""
        yield Unit("student", folder=".", exercise=self._exercise_id)


def judge_folder(course: Course, exercise_id: str, platform: str, folder: Path, output: Path) -> str:
    """Grade the files in a student's folder and write the platform's results. Return a summary for the log.

    Old results are removed first: where there is no verdict, there is no file. Raise `KitError` where the kit cannot
    grade, or where a submission could read the reference.
    """
    _remove(output, folder)
    exercise = load_exercise(course.description(exercise_id))
    verdict, remark = _verdict(course, exercise, folder)
    for name, text in RENDERERS[platform](verdict, exercise, remark).items():
        _write(output.with_name(name) if name else output, text, folder)
    summary = f"{result_words(verdict)[0]} · {points(verdict.score)} of {points(verdict.max_score)} points"
    return "\n".join(filter(None, (remark, summary, open_layers(verdict))))


def _is_students(path: Path, folder: Path) -> bool:
    """Return whether an output file lies in the student's folder, where the student may have put anything."""
    return path.parent.resolve().is_relative_to(folder.resolve())


def _remove(path: Path, folder: Path) -> None:
    """Remove an old output file. Of the student's, remove anything: a folder, or a link to somewhere else."""
    if not _is_students(path, folder):
        if path.is_file() and not path.is_symlink():
            path.unlink()
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, text: str, folder: Path) -> None:
    """Write an output file, in the student's folder through no link."""
    _remove(path, folder)
    if _is_students(path, folder):
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    else:
        write_product(path, text.encode())


def _verdict(course: Course, exercise: Exercise, folder: Path) -> tuple[Verdict, str]:
    """What comes of the file that counts, and of two what is said of the other."""
    module = course.module_name(exercise.id)
    with Unpacker() as unpacker:
        skipped = SkippedFiles()
        found = list(UnitSubmissions(OneStudent(exercise.id), folder, {exercise.id: module}, skipped, unpacker))
        if not found:
            there = "; ".join(skipped.lines())
            reason = f"nothing to judge was handed in: hand in {module} or {Path(module).stem}.ipynb"
            why = Finding("missing", f"{reason} ({there})" if there else reason)
            return not_gradable(exercise, module, secrets.randbelow(MAX_SEED), why), ""
        record, read = SubmissionLoader(course, folder).load(found[0])
    choice = Choice(Path(record.file), read)
    remark = f"This is about {record.file}; {record.remark}." if record.remark else ""
    return judge_file(
        course, exercise.id, choice, strict=not _is_closed_by_owner(course.reference(exercise.id))
    ), remark


def _is_closed_by_owner(path: Path) -> bool:
    """Whether a submission's user cannot open the file, whatever layers the host lacks: a child process tries.

    So it is where this is root and the file is root's alone. Elsewhere the kernel's layers must close it.
    """

    def is_refused() -> bool:
        become_nobody(readable_folders())
        drop_capabilities()
        try:
            path.open("rb").close()
        except PermissionError:
            return True
        return False

    return hasattr(os, "geteuid") and os.geteuid() == 0 and is_true_in_fork(is_refused)


def _for_classroom50(verdict: Verdict, exercise: Exercise, _remark: str) -> dict[str, str]:
    """The report names the file, and what is said of the other is in the run's log."""
    handed_in = HandedIn.from_environment(os.environ, time_text())
    report = render_report(verdict, exercise)
    return {"": render_classroom50(verdict, exercise, handed_in), REPORT: report}


def _for_nbgrader(verdict: Verdict, exercise: Exercise, remark: str) -> dict[str, str]:
    page = render_terminal(verdict, exercise, width=PAGE_WIDTH, color=False)
    page = f"{printable(remark)}\n\n{page}" if remark else page
    return {"": msgspec.json.encode({"points": float(verdict.score), "page": page}).decode()}


RENDERERS: Mapping[str, Callable[[Verdict, Exercise, str], dict[str, str]]] = {
    "gradescope": lambda verdict, exercise, remark: {"": render_gradescope(verdict, exercise, remark)},
    "prairielearn": lambda verdict, exercise, remark: {"": render_prairielearn(verdict, exercise, remark)},
    "classroom50": _for_classroom50,
    "nbgrader": _for_nbgrader,
}
"""The files that a platform reads, by name; the one without a name lies where the platform says."""
