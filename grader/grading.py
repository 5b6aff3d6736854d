"""Grade one submission, from files to verdict."""

import secrets
import sys
from pathlib import Path

from msgspec import Struct

from grader.course import Course
from grader.exercise import Exercise, load_exercise
from grader.outcome import Finding
from grader.submission import Submission, Unreadable, exceeds, read_submission
from grader.verdict import Verdict, judge, judge_public, not_gradable

MAX_SEED = 2**31
CAN_FORK = sys.platform == "linux"
"""Forking a process that holds torch is safe on Linux; macOS's system libraries forbid it, Windows cannot."""


class Choice(Struct, frozen=True):
    """The file that is graded, and what to say first about it."""

    path: Path
    remark: str = ""


def choose_file(course: Course, exercise_id: str) -> Choice:
    """The module, unless only the notebook was edited; the newer one where both were."""
    module, notebook = course.twins(exercise_id)
    edited = [path for path in (module, notebook) if is_edited(course, path)]
    if len(edited) == 1:
        return Choice(edited[0])
    if not edited:
        return Choice(module)
    newer = max(edited, key=lambda path: path.stat().st_mtime_ns)
    return Choice(
        newer, f"Both {module.name} and {notebook.name} were edited; this is about {newer.name}, the newer one."
    )


def is_edited(course: Course, path: Path) -> bool:
    """Whether the code differs from the starter's; a notebook's outputs and a file's line endings do not count."""
    pristine = course.pristine(path)
    if not path.exists() or not pristine.exists() or path.read_bytes() == pristine.read_bytes():
        return False
    ours, theirs = read_submission(path, path.name), read_submission(pristine, path.name)
    return isinstance(ours, Unreadable) or ours != theirs


def grade(
    course: Course,
    exercise_id: str,
    path: Path,
    *,
    seed: int | None = None,
    spawn: bool = not CAN_FORK,
    strict: bool = False,
) -> Verdict:
    """The verdict on the file at `path`; `seed` is that of the inputs, fresh and secret where none is given.

    `strict` refuses, with a `KitError`, where a submission could reach files or the network. Raises `SpecError` for a
    wrong description and `BrokenExerciseError` when the reference fails.
    """
    name = _shown_path(course, path)
    seed = secrets.randbelow(MAX_SEED) if seed is None else seed
    submission = read_submission(path, path.name)
    if isinstance(submission, Unreadable):
        return _ungraded(load_exercise(course.description(exercise_id)), name, seed, submission)
    return _examine_and_judge(course, exercise_id, submission, name, seed, spawn=spawn, strict=strict)


def _examine_and_judge(
    course: Course, exercise_id: str, submission: Submission, name: str, seed: int, *, spawn: bool, strict: bool
) -> Verdict:
    """Fork the nursery, and only then open description, reference and checks."""
    from grader.examiner.torch_import import assert_single_thread, import_torch

    import_torch()
    from grader.examiner.workers import Nursery, Spawner, hide_memory

    hide_memory()
    if not spawn:
        assert_single_thread()
    source = Spawner() if spawn else Nursery()
    try:
        exercise = load_exercise(course.description(exercise_id))
        too_large = exceeds(submission, exercise.limits.source_bytes)
        if too_large is not None:
            return _ungraded(exercise, name, seed, too_large)
        source.order(exercise.limits)  # forked while pytest is being imported

        from grader.examiner.examine import with_examiner
        from grader.examiner.key import find_key

        if exercise.is_public():
            seen = with_examiner(course, exercise, source, lambda examiner: examiner.examine(submission, seed))
            return judge_public(exercise, seen, name, seed)
        key, seen = with_examiner(
            course,
            exercise,
            source,
            lambda examiner: (find_key(course, examiner), examiner.examine(submission, seed)),
            strict=strict,
        )
    finally:
        source.close()
    return judge(exercise, key, seen, name, seed)


def _ungraded(exercise: Exercise, name: str, seed: int, why: Unreadable) -> Verdict:
    return not_gradable(exercise, name, seed, Finding("unreadable", why.reason))


def _shown_path(course: Course, path: Path) -> str:
    """The path as verdicts show it: inside the course where it lies there."""
    absolute = path.absolute()
    return str(absolute.relative_to(course.root)) if absolute.is_relative_to(course.root) else str(path)
