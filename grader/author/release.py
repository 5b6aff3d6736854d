"""A course -> its student edition: everything a student may have, and nothing that spoils a hunt."""

from pathlib import Path

from msgspec import Struct

from grader.author.derived_files import tree_text
from grader.author.edition_files import description_of, find_spoilers, handouts, kit_files, overview, pages, readme
from grader.errors import SpecError, UsageError
from grader.processes.examiner_process import usable_cores
from grader.processes.pool import TaskPool
from grader.processes.workers import WorkerSource
from grader.spec.exercise import Exercise
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, write_product
from grader.submission import Unreadable, read_submission

COURSE_FOLDERS = ("exercises", "grader", "solutions", "tests")


class Prepared(Struct, frozen=True, kw_only=True):
    """An exercise ready to be released: the files that replace its reference, and how many checks are left out.

    `why_not` says why it must not be released: its starter would look done.
    """

    exercise: Exercise
    files: dict[Path, bytes]
    hidden: int
    why_not: str


def release(course: Course, folder: Path, *, with_hints: bool = True, only: tuple[str, ...] = ()) -> str:
    """Write the student edition of all exercises, or of `only` these, into a new or empty folder; return a summary.

    Raise `UsageError` if the folder is not empty, and `SpecError` if an exercise cannot be released. Nothing is written
    in either case.
    """
    _require_room(course, folder)
    for exercise_id in only:
        course.require(exercise_id)
    exercises = [load_exercise(course.description(name)) for name in course.exercise_ids() if not only or name in only]
    if any(not exercise.edition.HAS_REFERENCE for exercise in exercises):
        raise UsageError("this is a student edition already; release from the course that has solutions/")
    problems = [problem for each in exercises for problem in _why_unfit(course, each)]
    if problems:
        raise SpecError(problems)
    prepared = _prepare(course, exercises)
    refused = [each.why_not for each in prepared if each.why_not]
    if refused:
        raise SpecError(refused)
    spoilers = find_spoilers(course, exercises, _files(course, prepared, with_hints=False))
    if spoilers:
        raise SpecError(spoilers)
    for path, content in _files(course, prepared, with_hints=with_hints).items():
        write_product(folder / path, content)
    return _summary(folder, prepared, with_hints=with_hints)


def _files(course: Course, prepared: list[Prepared], *, with_hints: bool) -> dict[Path, bytes]:
    exercises = [each.exercise for each in prepared]
    files = kit_files() | {
        Path("README.md"): readme(exercises),
        Path("exercises/README.md"): overview(course, exercises, with_hints=with_hints),
    }
    for each in prepared:
        here = Path("exercises") / each.exercise.id
        description = description_of(each.exercise, each.hidden, with_hints=with_hints)
        files |= pages(course, each.exercise, with_hints=with_hints) | {here / "exercise.yaml": description}
        files |= {here / path: content for path, content in each.files.items()}
    return files


def _require_room(course: Course, folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty, and nothing is overwritten; name a new folder")
    inside = next((name for name in COURSE_FOLDERS if folder.resolve().is_relative_to(course.root / name)), None)
    if inside:
        raise UsageError(f"{folder} lies in the course's own {inside}/; name a folder elsewhere")


def _why_unfit(course: Course, exercise: Exercise) -> list[str]:
    """Return the reasons not to release the exercise: missing files, or a starter that does not fit the reference."""
    starter = course.pristine(course.editable_files(exercise.id)[0])
    reference = course.reference(exercise.id)
    missing = [path for path in (*handouts(course, exercise).values(), reference) if not path.is_file()]
    if missing:
        return [f"{path.relative_to(course.root)}: there is no such file; put it back" for path in missing]
    problems = []
    defective = put_back(reference.read_text(encoding="utf-8"), exercise.defects)
    for path in (starter, course.pristine(course.editable_files(exercise.id)[1])):
        read = read_submission(path, path.name)
        chunks = [] if isinstance(read, Unreadable) else read.chunks
        if tree_text("\n\n".join(chunk.text for chunk in chunks)) != tree_text(defective):
            place = path.relative_to(course.root)
            problems.append(f"{place}: is not the reference with every defect in it; run python -m grader prove")
    return problems


def _prepare(course: Course, exercises: list[Exercise]) -> list[Prepared]:
    """Seal the exercises, on all cores."""
    pool = TaskPool(min(usable_cores(), len(exercises)))
    try:
        tasks = [pool.submit(_prepare_one, course, each) for each in exercises]
        return [task.result() for task in tasks]
    finally:
        pool.close()


def _prepare_one(source: WorkerSource, course: Course, exercise: Exercise) -> Prepared:
    from grader.author.sealing import seal
    from grader.checks.runner import Runner

    with Runner(course, exercise, source) as runner:
        sealed, count = seal(course, runner), len(runner.check_ids())
    passes = "its starter passes every check that needs no Python, and would look done"
    return Prepared(
        exercise=sealed.exercise,
        files={Path("answers.safetensors"): sealed.answers, Path("key.json"): sealed.key},
        hidden=count - len(sealed.exercise.checks),
        why_not="" if sealed.fails_starter else f"{exercise.id}: {passes}; add a property that sees a defect",
    )


def _summary(folder: Path, prepared: list[Prepared], *, with_hints: bool) -> str:
    run = sum(len(each.exercise.checks) for each in prepared)
    hidden = sum(each.hidden for each in prepared)
    noun = "exercise" if len(prepared) == 1 else "exercises"
    hints = "with hints" if with_hints else "without hints"
    return (
        f"{folder} is the student edition: {len(prepared)} {noun} {hints}, {run} checks that run at home, "
        f"{hidden} that run only when a file is handed in."
    )
