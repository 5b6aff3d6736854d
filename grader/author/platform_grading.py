"""The program of an autograder package: grade a student's files and write the results that the platform reads."""

import os
import shutil
from pathlib import Path

from grader.checks.outcome import FailureKind, Finding
from grader.classroom.gradebook import SubmissionRecord, WorkKind
from grader.classroom.layouts.archives import Unpacker
from grader.classroom.layouts.files import SkippedFiles
from grader.classroom.layouts.folders import SingleStudent
from grader.classroom.layouts.units import UnitSubmissions
from grader.classroom.platforms import AUTOGRADERS
from grader.classroom.tasks import SubmissionLoader
from grader.errors import KitError
from grader.processes.examiner_process import usable_cores
from grader.processes.fork import is_true_in_fork
from grader.processes.pool import ExaminerPool
from grader.report.phrases import open_layers, points, result_words
from grader.report.trap import render_trap
from grader.sandbox.layers import readable_folders
from grader.sandbox.sandbox import become_nobody, drop_capabilities
from grader.spec.exercise import Exercise
from grader.spec.files import write_product
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.seeds import secret_seed
from grader.submission import Submission, Unreadable
from grader.trap.pooled_judge import PooledTrapJudge
from grader.trap.reading import is_unwritten, refuse_trap, trap_of
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Verdict, not_gradable


def judge_folder(course: Course, exercise_id: str, platform: str, folder: Path, output: Path) -> str:
    """Grade the files in a student's folder and write the platform's results. Return a summary for the log.

    Old results are removed first, so that without a verdict there is no file. Raise `KitError` if the kit cannot grade,
    or if a submission could read the reference.
    """
    _remove(output, folder)
    exercise = load_exercise(course.description(exercise_id))
    verdict, remark = _verdict(course, exercise, folder)
    for name, text in AUTOGRADERS[platform].results(verdict, exercise, remark).items():
        _write(output.with_name(name) if name else output, text, folder)
    summary = f"{result_words(verdict)} · {points(verdict.judged_score())} of {points(verdict.max_score)} points"
    return "\n".join(filter(None, (remark, summary, open_layers(verdict))))


def _is_students(path: Path, folder: Path) -> bool:
    """Return whether an output file is in the student's folder, which may contain anything."""
    return path.parent.resolve().is_relative_to(folder.resolve())


def _remove(path: Path, folder: Path) -> None:
    """Remove an old output file. In the student's folder, also remove a folder or a link of this name."""
    if not _is_students(path, folder):
        if path.is_file() and not path.is_symlink():
            path.unlink()
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, text: str, folder: Path) -> None:
    """Write an output file; in the student's folder, follow no link."""
    _remove(path, folder)
    if _is_students(path, folder):
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    else:
        write_product(path, text.encode())


def _verdict(course: Course, exercise: Exercise, folder: Path) -> tuple[Verdict, str]:
    """Return the verdict on the submission, and a remark: which of two files was graded, and the trap's page.

    The submission and the trap are judged by other processes, because workers forked from this one would hold the
    description.
    """
    name = course.module_name(exercise.id)
    with Unpacker() as unpacker:
        skipped = SkippedFiles()
        submissions = UnitSubmissions(SingleStudent(exercise.id), folder, {exercise.id: name}, skipped, unpacker)
        loader = SubmissionLoader(course, folder)
        loaded = {files.kind: loader.load(files) for files in submissions}
    trap, module = loaded.get(WorkKind.TRAP), loaded.get(WorkKind.MODULE)
    page = "" if trap is None else _trap_page(course, exercise, *trap)
    if module is None:
        listed = "; ".join(skipped.lines())
        reason = f"nothing to grade was handed in: hand in {name} or {Path(name).stem}.ipynb"
        why = Finding(kind=FailureKind.MISSING, message=f"{reason} ({listed})" if listed else reason)
        return not_gradable(exercise, name, secret_seed(), why), page
    record, read = module
    remark = f"Graded: {record.file}; {record.remark}." if record.remark else ""
    with ExaminerPool(most_idle=1) as pool:
        judge = PooledJudge(pool, course, strict=_must_be_strict(course, exercise))
        verdict = judge.judge(exercise.id, read, record.file, secret_seed())
    return verdict, "\n".join(filter(None, (remark, page)))


def _trap_page(course: Course, exercise: Exercise, record: SubmissionRecord, read: Submission | Unreadable) -> str:
    """Return the page of a trap; empty if it is as it was handed out.

    A trap that cannot be judged never costs the verdict on the module.
    """
    seed = secret_seed()
    if is_unwritten(read):
        return ""
    refused = refuse_trap(exercise, read, record.file, seed)
    if refused is not None:
        return render_trap(refused).rstrip()
    try:
        with ExaminerPool(most_idle=1) as pool:
            judge = PooledTrapJudge(pool, course, strict=_must_be_strict(course, exercise), lanes=usable_cores())
            return render_trap(judge.judge(exercise.id, trap_of(read, record.file), seed)).rstrip()
    except KitError as error:
        return f"The trap was not judged: {error}"


def _must_be_strict(course: Course, exercise: Exercise) -> bool:
    """Return whether only the sandbox protects the reference."""
    return not _is_closed_by_owner(course.reference(exercise.id), course.secret_folders())


def _is_closed_by_owner(path: Path, secret_folders: tuple[str, ...]) -> bool:
    """Return whether the user that runs submissions cannot open the file, by trying it.

    This is so if the kit runs as root and only root may read the file. Otherwise the sandbox must protect the file.
    """

    def is_refused() -> bool:
        become_nobody(readable_folders(secret_folders))
        drop_capabilities()
        try:
            path.open("rb").close()
        except PermissionError:
            return True
        return False

    return hasattr(os, "geteuid") and os.geteuid() == 0 and is_true_in_fork(is_refused)
