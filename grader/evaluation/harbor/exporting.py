"""Write exercises as Harbor task folders."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from grader.author.autograder import kit_files, pins
from grader.errors import UsageError
from grader.evaluation.catalogue import Hunt, hunt_of
from grader.evaluation.rewards import Scheme
from grader.spec.loading import load_exercise
from grader.spec.paths import Course

PAGES = ("task.toml", "instruction.md", "environment/Dockerfile", "tests/Dockerfile", "tests/test.sh")
"""The files that are made from templates."""

EXECUTABLE = 0o755
VERIFIER_SECONDS = 120
"""The verifier's time in addition to the exercise's own limit: importing torch takes long on a busy machine."""


def export_tasks(
    course: Course,
    folder: Path,
    exercise_ids: Iterable[str] = (),
    *,
    scheme: Scheme = Scheme.ALL_OR_NOTHING,
    with_solutions: bool = False,
) -> list[Path]:
    """Write a task folder for each exercise, and return the folders.

    `environment/` is the agent's side, with only the starter. `tests/` is the verifier's side, an image of its own with
    the kit, the reference and the checks. `with_solutions` adds `solution/` for Harbor's oracle. Raise `UsageError` for
    an unknown exercise, a course without references or a folder in use.
    """
    chosen = list(dict.fromkeys(exercise_ids)) or course.exercise_ids()
    for exercise_id in chosen:
        course.require(exercise_id)
        if not course.reference(exercise_id).is_file():
            raise UsageError(f"{exercise_id} has no reference here; export from a course with solutions/")
        if (folder / exercise_id).exists():
            raise UsageError(f"{folder / exercise_id} exists, and nothing is overwritten; name a new folder")
    kit, requirements = kit_files(), "".join(f"{pin}\n" for pin in pins())
    return [
        _write_task(
            course, folder / each, hunt_of(course, each), kit, requirements, scheme, with_solutions=with_solutions
        )
        for each in chosen
    ]


def _write_task(
    course: Course,
    folder: Path,
    hunt: Hunt,
    kit: dict[Path, bytes],
    requirements: str,
    scheme: Scheme,
    *,
    with_solutions: bool,
) -> Path:
    templates = Environment(
        loader=PackageLoader("grader.evaluation", "templates/harbor"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - Dockerfiles, shell and Markdown; TOML texts are quoted by a filter
        keep_trailing_newline=True,
    )
    templates.filters["toml"] = _quoted
    limits = load_exercise(course.description(hunt.id)).limits
    seconds = VERIFIER_SECONDS + round(limits.seconds.total)
    files = {
        Path(page): templates.get_template(f"{page}.j2").render(hunt=hunt, scheme=scheme, seconds=seconds).encode()
        for page in PAGES
    }
    files[Path("environment") / hunt.file_name] = hunt.starter.encode()
    verifier = Path("tests") / "verifier"
    files |= {verifier / path: content for path, content in kit.items()}
    files[verifier / "requirements.txt"] = requirements.encode()
    for path in (*course.judged_by(hunt.id), *_starters(course, hunt.id), course.key(hunt.id)):
        if path.is_file():
            files[verifier / "course" / path.relative_to(course.root)] = path.read_bytes()
    if with_solutions:
        files[Path("solution") / hunt.file_name] = course.reference(hunt.id).read_bytes()
        script = f'#!/bin/bash\nset -e\ncp "$(dirname "$0")/{hunt.file_name}" /app/{hunt.file_name}\n'
        files[Path("solution") / "solve.sh"] = script.encode()
    try:
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
            if content.startswith(b"#!"):
                (folder / path).chmod(EXECUTABLE)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"{folder}: cannot be written: {error.strerror}; name another folder") from None
    return folder


def _starters(course: Course, exercise_id: str) -> list[Path]:
    """Return the files of the student's side that the judge needs: the name of the module, and its README."""
    return [*sorted(course.starters(exercise_id).glob("*.py")), course.exercise_folder(exercise_id) / "README.md"]


def _quoted(text: str) -> str:
    """Return a text as a basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
