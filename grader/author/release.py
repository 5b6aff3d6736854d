"""Make a course's student edition: everything that students may have, and nothing that spoils a hunt."""

from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct, structs

from grader.author.kit import students_kit
from grader.author.spoilers import find_spoilers
from grader.author.static_steps import tree_text
from grader.author.student_pages import for_edition, front_page, hunts_in, list_of_hunts, overview
from grader.errors import SpecError, UsageError
from grader.processes.examiner_process import usable_cores
from grader.processes.task_pool import TaskPool
from grader.processes.workers import WorkerSource
from grader.spec.document import Dumper
from grader.spec.edition import Sealed, SealedDefect
from grader.spec.exercise import Exercise
from grader.spec.files import write_product
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import SEALED, VARIATIONS, Course
from grader.spec.problem import BLANK, listed
from grader.spec.variations import source_with
from grader.submission import Unreadable, read_submission
from grader.trap.reading import TEMPLATE

USUAL_EDITION = Sealed()
"""The usual edition, with everything that it can hand out."""

COURSE_FOLDERS = ("exercises", "grader", "solutions", "tests")


class Prepared(Struct, frozen=True, kw_only=True):
    """An exercise ready to be released: the files that replace its reference, and the number of omitted checks.

    `explained` counts the defects that are explained at home. `why_not` is the reason why the exercise must not be
    released, such as a starter that would pass every check at home.
    """

    exercise: Exercise
    files: dict[Path, bytes]
    hidden: int
    explained: int
    why_not: str


def release(course: Course, folder: Path, edition: Sealed = USUAL_EDITION, *, only: tuple[str, ...] = ()) -> str:
    """Write the edition of all exercises, or of `only` these, into a new or empty folder; return a summary.

    Raise `UsageError` if the folder is not empty, and `SpecError` if an exercise cannot be released. In both cases
    nothing is written.
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
    before = {each.id: course.stamps(each.id) for each in exercises}
    prepared = _prepare(course, exercises, edition)
    changed = [name for name, stamps in before.items() if course.stamps(name) != stamps]
    if changed:  # the recorded answers may be those of the files before the change
        raise UsageError(f"files of {listed(changed)} changed while the edition was made; run release again")
    refused = [each.why_not for each in prepared if each.why_not]
    if refused:
        raise SpecError(refused)
    without_hints = structs.replace(edition, has_hints=False)
    spoilers = find_spoilers(course, exercises, _files(course, prepared, without_hints))
    if spoilers:
        raise SpecError(spoilers)
    for path, content in _files(course, prepared, edition).items():
        write_product(folder / path, content)
    notes = [*_unlisted(course, exercises), *_unfinished(course, exercises)]
    return " ".join([_summary(folder, prepared, edition), *notes])


def _require_room(course: Course, folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty, and nothing is overwritten; name a new folder")
    inside = next((name for name in COURSE_FOLDERS if folder.resolve().is_relative_to(course.root / name)), None)
    if inside:
        raise UsageError(f"{folder} is inside the course's own {inside}/; name a folder elsewhere")


def _why_unfit(course: Course, exercise: Exercise) -> list[str]:
    """Return the reasons not to release the exercise: missing files, or a starter that does not fit the reference."""
    starter = course.pristine(course.editable_files(exercise.id)[0])
    reference = course.reference(exercise.id)
    missing = [path for path in (*_sources(course, exercise).values(), reference) if not path.is_file()]
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


def _prepare(course: Course, exercises: list[Exercise], edition: Sealed) -> list[Prepared]:
    """Seal the exercises, on all cores. Lock the explanations that the edition hands out."""
    pool = TaskPool(min(usable_cores(), len(exercises)))
    try:
        tasks = [pool.submit(_prepare_one, course, each, edition) for each in exercises]
        return [task.result() for task in tasks]
    finally:
        pool.close()


def _prepare_one(source: WorkerSource, course: Course, exercise: Exercise, edition: Sealed) -> Prepared:
    from grader.author.sealing import seal
    from grader.checks.runner import Runner

    with Runner(course, exercise, source) as runner:
        sealed = seal(course, runner, explained_by=source if edition.explains_at_home else None)
        count = len(runner.check_ids())
    files = {
        Path("answers.safetensors"): sealed.answers,
        Path("explanations.safetensors"): sealed.explanations,
        Path("key.json"): sealed.key,
    }
    passes = "its starter passes every check that needs no Python, and would look fixed"
    return Prepared(
        exercise=exercise,
        files={name: content for name, content in files.items() if content},
        hidden=count - len(exercise.checks),
        explained=sealed.explained,
        why_not="" if sealed.fails_starter else f"{exercise.id}: {passes}; add a property that detects a defect",
    )


def _unlisted(course: Course, exercises: list[Exercise]) -> list[str]:
    """Return a note on exercises without a row in exercises/README.md, where students look for them."""
    listed_ids = hunts_in(list_of_hunts(course, exercises))
    missing = [exercise.id for exercise in exercises if exercise.id not in listed_ids]
    remedy = "add a row to this course's, and release again"
    return [f"The edition's exercises/README.md does not list {listed(missing)}: {remedy}."] if missing else []


def _unfinished(course: Course, exercises: list[Exercise]) -> list[str]:
    """Return a note on each page for students that the author has not completed."""
    pages = [course.exercise_folder(exercise.id) / "README.md" for exercise in exercises]
    blank = [page.relative_to(course.root) for page in pages if BLANK in page.read_text(encoding="utf-8")]
    return [f"{page} still says {BLANK}, and students read it: complete it and release again." for page in blank]


def _summary(folder: Path, prepared: list[Prepared], edition: Sealed) -> str:
    run = sum(len(each.exercise.checks) for each in prepared)
    hidden = sum(each.hidden for each in prepared)
    noun = "exercise" if len(prepared) == 1 else "exercises"
    hints = "with hints" if edition.has_hints else "without hints"
    explained = sum(each.explained for each in prepared)
    defects = sum(len(each.exercise.defects) for each in prepared)
    if 0 < explained == defects:
        when = "Each defect is explained at home once it is fixed."
    elif explained:
        when = (
            f"{explained} of {defects} defects are explained at home once they are fixed, the others after the hand-in."
        )
    else:
        when = "Defects are explained after the hand-in."
    return (
        f"{folder} is the student edition: {len(prepared)} {noun} {hints}, {run} checks that run at home, "
        f"{hidden} that run only when a file is handed in. {when}"
    )


def _files(course: Course, prepared: list[Prepared], edition: Sealed) -> dict[Path, bytes]:
    """Return every file of the edition by its path."""
    exercises = [each.exercise for each in prepared]
    files = students_kit() | {
        Path("README.md"): front_page(exercises).encode(),
        Path("exercises/README.md"): overview(course, exercises, edition).encode(),
    }
    for each in prepared:
        here = Path(SEALED) / each.exercise.id
        files |= _exercise_files(course, each.exercise, edition)
        files[here / "exercise.yaml"] = _description(each.exercise, each.hidden, edition)
        if classes := {check.variation_class() for check in each.exercise.checks} - {""}:
            source = course.variations(each.exercise.id).read_text(encoding="utf-8")
            files[here / VARIATIONS] = source_with(source, sorted(classes)).encode()
        files |= {here / path: content for path, content in each.files.items()}
    return files


def _exercise_files(course: Course, exercise: Exercise, edition: Sealed) -> dict[Path, bytes]:
    """Return what a student reads and edits of an exercise."""
    files = {path: source.read_bytes() for path, source in _sources(course, exercise).items()}
    story = Path("exercises") / exercise.id / "README.md"
    trap = course.trap(exercise.id).relative_to(course.root)
    return files | {
        story: for_edition(files[story].decode(), edition).encode(),
        trap: TEMPLATE.format(exercise=exercise.id).encode(),
    }


def _sources(course: Course, exercise: Exercise) -> dict[Path, Path]:
    """Return the source of each of an exercise's files: the untouched starter for the files that students edit."""
    here = Path("exercises") / exercise.id
    sources = {here / "README.md": course.exercise_folder(exercise.id) / "README.md"}
    for path in course.editable_files(exercise.id):
        pristine = course.pristine(path)
        sources |= {here / path.name: pristine, pristine.relative_to(course.root): pristine}
    return sources


INTRODUCTION = "# What you may know of this exercise. More checks run when you hand in your file.\n"


def _description(exercise: Exercise, hidden_checks: int, edition: Sealed) -> bytes:
    """Return the exercise.yaml of the edition, in which defects have only points and hints."""
    numbers = exercise.numbers()
    defects = sorted(exercise.defects, key=lambda defect: numbers[defect.id])
    edition = edition.of_exercise(
        hidden_checks=hidden_checks,
        defects=[SealedDefect(points=each.points, stretch=each.stretch, hints=each.hints) for each in defects],
        near_misses=[" ".join(each.hint.split()) for each in exercise.near_misses],
    )
    description = {
        "format_version": exercise.format_version,
        "title": exercise.title,
        "difficulty": exercise.difficulty,
        "theme": exercise.theme,
        "source": {"title": exercise.source.title},
        "story": exercise.story.strip(),
        "interface": msgspec.to_builtins(exercise.interface),
        "sizes": exercise.sizes,
        "nothing_else_broke": exercise.nothing_else_broke,
        "announces": str(exercise.announces),
        "defects": [],
        "checks": [_without_defaults(structs.replace(check, for_=())) for check in exercise.checks],
        "limits": msgspec.to_builtins(exercise.limits),
        "edition": msgspec.to_builtins(edition),
    }
    return (INTRODUCTION + _yaml(description)).encode()


def _without_defaults(record: Struct) -> dict[str, Any]:
    """Return the fields of a record that differ from their defaults."""
    data: dict[str, Any] = msgspec.to_builtins(record)
    for field in structs.fields(record):
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if getattr(record, field.name) == default:
            data.pop(field.encode_name, None)
    return data


def _yaml(data: dict[str, Any]) -> str:
    text: str = yaml.dump(data, Dumper=Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=120)
    return text
