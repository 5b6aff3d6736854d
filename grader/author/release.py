"""A course -> its student edition: everything a student may have, and nothing that spoils a hunt."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from grader.author.derived_files import tree_text
from grader.author.edition import (
    description_of,
    find_spoilers,
    handouts,
    kit_files,
    overview,
    pages,
    public_checks,
    readme,
)
from grader.checks.outcome import Status
from grader.errors import SpecError, UsageError
from grader.processes.examiner_process import usable_cores
from grader.processes.pool import TaskPool
from grader.processes.workers import WorkerSource
from grader.spec.exercise import Exercise
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, write_product
from grader.submission import Submission, Unreadable, read_submission

if TYPE_CHECKING:
    from grader.checks.runner import Runner

COURSE_FOLDERS = ("exercises", "grader", "solutions", "tests")


class Prepared(Struct, frozen=True):
    """An exercise ready to be handed out: files that stand in for its reference, and how many checks are left out.

    `why_not` says why it must not be handed out: its starter would look done before it is begun.
    """

    exercise: Exercise
    files: dict[Path, bytes]
    hidden: int
    why_not: str


def release(
    course: Course, folder: Path, *, with_hints: bool = True, public_only: bool = False, only: tuple[str, ...] = ()
) -> str:
    """Write the student edition, of `only` these exercises where any are named, into a new or empty folder.

    It holds what stands in for the reference, unless there are to be public checks only. What is in it is returned.
    Raises `UsageError` where the folder is taken, `SpecError` where an exercise is not fit to be handed out, having
    written nothing.
    """
    _require_room(course, folder)
    for exercise_id in only:
        course.require(exercise_id)
    exercises = [load_exercise(course.description(name)) for name in course.exercise_ids() if not only or name in only]
    if any(exercise.is_edition() for exercise in exercises):
        raise UsageError("this is a student edition already; release from the course that has solutions/")
    problems = [problem for each in exercises for problem in _why_unfit(course, each, public_only=public_only)]
    if problems:
        raise SpecError(problems)
    prepared = _prepare(course, exercises, public_only=public_only)
    refused = [each.why_not for each in prepared if each.why_not]
    if refused:
        raise SpecError(refused)
    spoilers = find_spoilers(course, exercises, _files(course, prepared, with_hints=False, is_sealed=not public_only))
    if spoilers:
        raise SpecError(spoilers)
    for path, content in _files(course, prepared, with_hints=with_hints, is_sealed=not public_only).items():
        write_product(folder / path, content)
    return _summary(folder, prepared, with_hints=with_hints, is_sealed=not public_only)


def _files(course: Course, prepared: list[Prepared], *, with_hints: bool, is_sealed: bool) -> dict[Path, bytes]:
    exercises = [each.exercise for each in prepared]
    files = kit_files() | {
        Path("README.md"): readme(exercises, is_sealed=is_sealed),
        Path("exercises/README.md"): overview(course, exercises, with_hints=with_hints),
    }
    for each in prepared:
        here = Path("exercises") / each.exercise.id
        told = description_of(each.exercise, each.hidden, with_hints=with_hints, is_sealed=is_sealed)
        files |= pages(course, each.exercise, with_hints=with_hints) | {here / "exercise.yaml": told}
        files |= {here / path: content for path, content in each.files.items()}
    return files


def _require_room(course: Course, folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty, and nothing is overwritten; name a new folder")
    inside = next((name for name in COURSE_FOLDERS if folder.resolve().is_relative_to(course.root / name)), None)
    if inside:
        raise UsageError(f"{folder} lies in the course's own {inside}/; name a folder elsewhere")


def _why_unfit(course: Course, exercise: Exercise, *, public_only: bool) -> list[str]:
    """What speaks against handing the exercise out."""
    starter = course.pristine(course.editable_files(exercise.id)[0])
    reference = course.reference(exercise.id)
    missing = [path for path in handouts(course, exercise).values() if not path.is_file()]
    missing += [path for path in (reference,) if not path.is_file()]
    if missing:
        return [f"{path.relative_to(course.root)}: there is no such file; put it back" for path in missing]
    problems = []
    if public_only and not public_checks(exercise):
        problems.append(f"{exercise.id}: no check is public; mark one that needs no reference with public: true")
    defective = put_back(reference.read_text(encoding="utf-8"), exercise.defects)
    for path in (starter, course.pristine(course.editable_files(exercise.id)[1])):
        read = read_submission(path, path.name)
        chunks = [] if isinstance(read, Unreadable) else read.chunks
        if tree_text("\n\n".join(chunk.text for chunk in chunks)) != tree_text(defective):
            place = path.relative_to(course.root)
            problems.append(f"{place}: is not the reference with every defect in it; run python -m grader prove")
    return problems


def _prepare(course: Course, exercises: list[Exercise], *, public_only: bool) -> list[Prepared]:
    """Each exercise with what stands in for its reference, its starter having been tried: on all cores."""
    pool = TaskPool(min(usable_cores(), len(exercises)))
    try:
        tasks = [pool.submit(_prepare_one, course, each, public_only) for each in exercises]
        return [task.result() for task in tasks]
    finally:
        pool.close()


def _prepare_one(source: WorkerSource, course: Course, exercise: Exercise, public_only: bool) -> Prepared:
    from grader.checks.runner import Runner

    with Runner(course, exercise, source) as runner:
        return (_try_public if public_only else _seal)(course, runner)


def _seal(course: Course, runner: "Runner") -> Prepared:
    from grader.author.sealing import seal

    sealed = seal(course, runner)
    exercise = sealed.exercise
    files = {Path("answers.safetensors"): sealed.answers, Path("key.json"): sealed.key}
    passes = "its starter passes every check that needs no Python, and would look done"
    why_not = "" if sealed.sees_the_starter else f"{exercise.id}: {passes}; add a property that sees a defect"
    return Prepared(exercise, files, len(runner.check_ids()) - len(exercise.checks), why_not)


def _try_public(course: Course, runner: "Runner") -> Prepared:
    from grader.verdict.signatures import KEY_SEED

    exercise = runner.exercise
    public = [check.id for check in public_checks(exercise)]
    path = course.pristine(course.editable_files(exercise.id)[0])
    starter = read_submission(path, path.name)
    assert isinstance(starter, Submission), "its syntax tree was compared"
    seen = runner.examine(starter, KEY_SEED, only=public)
    is_seen = bool(seen.unloadable) or any(outcome.status is not Status.PASSED for outcome in seen.outcomes)
    passes = "its starter passes every public check, and would look done"
    remedy = "make a check public that sees a defect by itself, or name the exercises to release without it"
    hidden = len(runner.check_ids()) - len(public)
    return Prepared(exercise, {}, hidden, "" if is_seen else f"{exercise.id}: {passes}; {remedy}")


def _summary(folder: Path, prepared: list[Prepared], *, with_hints: bool, is_sealed: bool) -> str:
    exercises = [each.exercise for each in prepared]
    run = sum(len(exercise.checks if is_sealed else public_checks(exercise)) for exercise in exercises)
    hidden = sum(each.hidden for each in prepared)
    noun = "exercise" if len(exercises) == 1 else "exercises"
    told = f"{len(exercises)} {noun} {'with' if with_hints else 'without'} hints, {run} checks that run at home"
    kind = "sealed" if is_sealed else "public checks only"
    lines = [f"{folder} is the student edition ({kind}): {told}, {hidden} left for when they are handed in."]
    for exercise in exercises if not is_sealed else []:
        shown = {check.id for check in public_checks(exercise)}
        kept = [check.id for check in exercise.checks if check.public and check.id not in shown]
        if kept:
            lines.append(f"{exercise.id}: {', '.join(kept)} stayed hidden: what needs the reference cannot be public")
    return "\n".join(lines)
