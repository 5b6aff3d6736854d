"""What an autograder package runs: a student's files as a platform hands them over, judged, in the platform's words."""

import contextlib
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
from grader.report.console import printable
from grader.report.exports.platforms import HandedIn, render_classroom50, render_gradescope, render_prairielearn
from grader.report.html import render_report
from grader.report.phrases import open_layers, points, result_words
from grader.report.terminal import render_terminal
from grader.sandbox.layers import readable_folders
from grader.sandbox.sandbox import become_nobody, drop_capabilities
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
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
    """Judge what a student's folder holds and write the platform's file; one line on what came of it.

    Whatever lay at the file's place is taken away first: where there is no verdict, there is no file. Raises `KitError`
    where the kit cannot judge, and where a submission could read the reference.
    """
    _clear(output)
    exercise = load_exercise(course.description(exercise_id))
    verdict, remark = _verdict(course, exercise, folder)
    for name, text in RENDERERS[platform](verdict, exercise, remark).items():
        place = output.with_name(name) if name else output
        _clear(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("x", encoding="utf-8") as file:
            file.write(text)
    told = f"{result_words(verdict)[0]} · {points(verdict.score)} of {points(verdict.max_score)} points"
    return "\n".join(filter(None, (remark, told, open_layers(verdict))))


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
    """Whether a submission's user cannot open the file, whatever layers the host lacks: it is tried.

    So it is where this is root and the file is root's alone. Elsewhere the kernel's layers must close it.
    """
    if not hasattr(os, "fork") or os.geteuid() != 0:
        return False
    process = os.fork()
    if process == 0:
        with contextlib.suppress(BaseException):
            become_nobody(readable_folders())
            drop_capabilities()
            try:
                path.open("rb").close()
            except PermissionError:
                os._exit(0)
        os._exit(1)
    return os.waitpid(process, 0)[1] == 0


def _clear(path: Path) -> None:
    """Take away whatever is there: a student's own file of that name, a folder, a link to somewhere else."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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
