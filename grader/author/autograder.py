"""Autograder packages: an exercise with the kit that grades it, in the form that a course platform expects.

Every package contains one folder with the kit, the exercise with its reference and hidden tests, a key that fits both,
and the pinned requirements. The platform's own files are made from the templates in its folder.
"""

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from grader.author.kit import whole_kit, write_files
from grader.classroom.platforms import AUTOGRADERS
from grader.classroom.platforms.platform import Autograder, Package
from grader.errors import BrokenExerciseError, UsageError
from grader.processes.worker_source import CAN_FORK, has_threads
from grader.report.phrases import points
from grader.report.rendering import text_templates
from grader.spec.files import is_special_file, product_draft, write_product
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, read_submission
from grader.trap.implementations import files_for_traps
from grader.verdict.judge import open_judge
from grader.verdict.key import Key, encode_key
from grader.verdict.verdict import Result

README = "README.md.j2"
"""The template of the page that says how to use the package."""

SETUP = "setup.sh.j2"
"""The template of a script that several platforms run in an image. It installs the kit and grades the reference."""

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every file in a zip, so that equal packages are equal files."""

SPARE_SECONDS = 60
"""Seconds added to the exercise's own time limit, for the import of torch and a busy machine."""


def write_autograder(course: Course, exercise_id: str, platform: str, output: Path) -> str:
    """Write the package, as a zip if `output` ends with .zip, else as a folder. Return how to use it.

    Raise `UsageError` if the output exists or the course has no references, and `BrokenExerciseError` if the starter or
    the reference gets a wrong verdict. In these cases nothing is written.
    """
    is_zip = output.suffix.lower() == ".zip"
    is_taken = any(output.iterdir()) if output.is_dir() else output.exists()
    if is_taken and not (is_zip and is_special_file(output)):
        raise UsageError(f"{output} exists, and nothing is overwritten; name a new file or folder")
    if not course.reference(exercise_id).is_file():
        raise UsageError(f"there is no {course.reference(exercise_id)}; package the course that has solutions/")

    key = _prove(course, exercise_id)
    exercise = load_exercise(course.description(exercise_id))
    package = Package(course=course, exercise=exercise, story=course.story(exercise_id))
    chosen = AUTOGRADERS[platform]

    with tempfile.TemporaryDirectory(prefix="autograder-") as temporary:
        folder = Path(temporary) / "package"
        write_files(folder, _package_files(chosen, package))
        write_product(Course(root=folder / chosen.kit_folder).key(exercise_id), encode_key(key))
        if is_zip:
            with product_draft(output) as draft:
                _zip(folder, draft)
        else:
            _copy(folder, output)
    return f"{output} is the autograder of {exercise_id} for {platform}.\n\n{_render(chosen, package, README)}"


def _prove(course: Course, exercise_id: str) -> Key:
    """Return the exercise's key; raise `BrokenExerciseError` unless starter and reference get the expected scores."""
    starter = course.pristine(course.editable_files(exercise_id)[0])
    with open_judge(course, spawn=not CAN_FORK or has_threads()) as judge:
        from grader.verdict.key_making import KEY_SEED  # loads torch

        wanted = {starter: Result.NOT_FIXED, course.reference(exercise_id): Result.FIXED}
        for path, outcome in wanted.items():
            read = read_submission(path, path.name)
            verdict = judge(exercise_id, read, path.name, KEY_SEED) if isinstance(read, Submission) else None
            if verdict is None or verdict.outcome is not outcome:
                found = verdict.outcome if verdict else "unreadable"
                raise BrokenExerciseError(f"{course.shown(path)} is {found}; run python -m grader prove {exercise_id}")
        return judge.open(exercise_id)[1]


def _package_files(platform: Autograder, package: Package) -> dict[Path, bytes]:
    """Return every file of a package by its path, except for the key."""
    home = Path(platform.kit_folder)
    files = {home / path: content for path, content in (whole_kit() | _course_files(package)).items()}
    for template in platform.templates().list_templates():
        files[Path(template).with_suffix("")] = _render(platform, package, template).encode()
    return files | platform.extra_files(package)


def _render(platform: Autograder, package: Package, template: str) -> str:
    """Return one of the platform's files, made from its template."""
    exercise = package.exercise
    chosen = platform.templates().get_template(template)
    return chosen.render(
        exercise=exercise.id,
        title=exercise.title,
        points=points(exercise.max_score()),
        story=package.story,
        seconds=round(exercise.limits.seconds.total) + SPARE_SECONDS,
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        setup=text_templates("grader.author").get_template(SETUP),
        module=Path(package.course.module_name(exercise.id)).stem,
        **platform.template_values(package),
    )


def _course_files(package: Package) -> dict[Path, bytes]:
    """Return the files by which the exercise is graded, and its starters."""
    course, exercise_id = package.course, package.exercise.id
    paths = [*course.judged_by(exercise_id), *map(course.pristine, course.editable_files(exercise_id))]
    paths += files_for_traps(course, exercise_id)
    return {path.relative_to(course.root): path.read_bytes() for path in paths}


def _copy(folder: Path, output: Path) -> None:
    """Copy the package to its place; a link to a folder that does not exist yet is followed."""
    try:
        shutil.copytree(folder, output.resolve(), dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise UsageError(f"{output}: cannot be written: {error}; name another folder") from None


def _zip(folder: Path, output: Path) -> None:
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                about = zipfile.ZipInfo(str(path.relative_to(folder)), EARLIEST)
                about.external_attr = path.stat().st_mode << 16
                about.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(about, path.read_bytes())
