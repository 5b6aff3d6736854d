"""Autograder packages: an exercise with the kit that judges it, as a course platform takes it.

Every package holds the same folder: the kit, the exercise with its reference and hidden tests, a key that fits both,
and the packages that they need, pinned. Around it lies what the platform wants, written from `templates/PLATFORM/`.
"""

import json
import shutil
import sys
import tempfile
import uuid
import zipfile
from importlib import metadata
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader.checks.outcome import Key
from grader.errors import BrokenExerciseError, UsageError
from grader.processes.worker_source import CAN_FORK, has_threads
from grader.report.phrases import points
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, is_special_file, product_draft, write_product
from grader.submission import Submission, read_submission
from grader.verdict.judge import open_judge
from grader.verdict.verdict import Result

KIT = Path(__file__).resolve().parents[1]
TEMPLATES = Path(__file__).parent / "templates"
TEMPLATE_SUFFIX = ".j2"
EXECUTABLE = 0o755
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time that every file in a zip is given: the same package twice is the same file twice."""

SPARE_SECONDS = 60
"""What a platform grants a submission beyond the exercise's own limit: torch's import, a busy machine."""

HIDDEN_CELL = "judged"
"""The id of the notebook cell that nbgrader reads the points from."""


KIT_FOLDERS = {"gradescope": ".", "classroom50": ".", "prairielearn": "image", "nbgrader": "autograder"}
"""Where in a platform's package the kit and the course lie."""

PLATFORMS = tuple(sorted(KIT_FOLDERS))


def write_autograder(course: Course, exercise_id: str, platform: str, output: Path) -> str:
    """Write the package, as a zip where `output` ends so, else as a folder; what it is and what to do with it.

    `UsageError` where the output is taken or the course has no references, `BrokenExerciseError` where starter or
    reference are not judged as they should be; nothing is written then.
    """
    is_zip = output.suffix.lower() == ".zip"
    is_taken = any(output.iterdir()) if output.is_dir() else output.exists()
    if is_taken and not (is_zip and is_special_file(output)):
        raise UsageError(f"{output} exists, and nothing is overwritten; name a new file or folder")
    if not course.reference(exercise_id).is_file():
        raise UsageError(f"there is no {course.reference(exercise_id)}; package the course that has solutions/")

    exercise = load_exercise(course.description(exercise_id))
    package = Package(course, exercise, platform)
    key = _prove(course, exercise)

    from grader.verdict.signatures import encode_key  # loads torch

    with tempfile.TemporaryDirectory(prefix="autograder-") as temporary:
        folder = Path(temporary) / "package"
        for path, content in package.files().items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
            if content.startswith(b"#!"):
                (folder / path).chmod(EXECUTABLE)
        write_product(Course(folder / KIT_FOLDERS[platform]).key(exercise_id), encode_key(key))
        if is_zip:
            with product_draft(output) as draft:
                _zip(folder, draft)
        else:
            _copy(folder, output)
    return f"{output} holds the autograder of {exercise_id} for {platform}.\n\n{package.page('README.md')}"


def _prove(course: Course, exercise: Exercise) -> Key:
    """The exercise's key, once the starter has got nothing and the reference everything."""
    starter = course.pristine(course.editable_files(exercise.id)[0])
    with open_judge(course, spawn=not CAN_FORK or has_threads()) as judge:
        from grader.verdict.signatures import KEY_SEED  # loads torch

        wanted = {starter: Result.NOT_FIXED, course.reference(exercise.id): Result.FIXED}
        for path, outcome in wanted.items():
            read = read_submission(path, path.name)
            verdict = judge(exercise.id, read, path.name, KEY_SEED) if isinstance(read, Submission) else None
            if verdict is None or verdict.outcome is not outcome:
                found = verdict.outcome if verdict else "not to be read"
                raise BrokenExerciseError(f"{course.shown(path)} is {found}; run python -m grader prove {exercise.id}")
        return judge.open(exercise.id)[1]


class Package:
    """What is in a package, but for the key."""

    def __init__(self, course: Course, exercise: Exercise, platform: str) -> None:
        self._course = course
        self._exercise = exercise
        self._platform = platform
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES),
            undefined=StrictUndefined,
            autoescape=select_autoescape(),
            keep_trailing_newline=True,
        )

    def files(self) -> dict[Path, bytes]:
        """Every file by its path."""
        home = Path(KIT_FOLDERS[self._platform])
        files = {home / path: content for path, content in (_kit_files() | self._course_files()).items()}
        files[home / "requirements.txt"] = "".join(f"{pin}\n" for pin in pins()).encode()
        folder = TEMPLATES / self._platform
        for template in sorted(folder.rglob(f"*{TEMPLATE_SUFFIX}")):
            path = template.relative_to(folder).with_suffix("")
            files[path] = self.page(path).encode()
        more = {"prairielearn": self._question, "nbgrader": self._assignment}.get(self._platform)
        return files | (more() if more else {})

    def page(self, name: str | Path) -> str:
        """A file of the platform's, from its template."""
        exercise = self._exercise
        return self._rendered(
            f"{self._platform}/{name}{TEMPLATE_SUFFIX}",
            exercise=exercise.id,
            title=exercise.title,
            points=points(exercise.max_score()),
            story=self._story(),
            seconds=round(exercise.limits.seconds.total) + SPARE_SECONDS,
            python=f"{sys.version_info.major}.{sys.version_info.minor}",
            uuid=str(uuid.uuid5(uuid.NAMESPACE_URL, f"grader:{exercise.id}")),
            cell=HIDDEN_CELL,
            module=Path(self._course.module_name(exercise.id)).stem,
        )

    def _rendered(self, template: str, **told: object) -> str:
        return self._templates.get_template(template).render(told)

    def _story(self) -> str:
        """What a student reads, but for the commands."""
        story = self._course.exercise_folder(self._exercise.id) / "README.md"
        return story.read_text(encoding="utf-8").partition("\n## How to work on it")[0]

    def _course_files(self) -> dict[Path, bytes]:
        """What the exercise is judged by, and what it was handed out as."""
        course, exercise_id = self._course, self._exercise.id
        paths = [*course.judged_by(exercise_id), *map(course.pristine, course.editable_files(exercise_id))]
        return {path.relative_to(course.root): path.read_bytes() for path in paths}

    def _question(self) -> dict[Path, bytes]:
        """PrairieLearn's editor begins with the starter."""
        if "{{" in self._story():
            place = f"exercises/{self._exercise.id}/README.md"
            raise UsageError(f"{place}: PrairieLearn takes {{{{ for a word of its own; reword it")
        starter = self._course.pristine(self._course.editable_files(self._exercise.id)[0])
        return {Path("starter", starter.name): starter.read_bytes()}

    def _assignment(self) -> dict[Path, bytes]:
        """The source notebook of nbgrader: the starter, and a locked cell that gives the points."""
        starter = self._course.pristine(self._course.editable_files(self._exercise.id)[1])
        notebook = json.loads(starter.read_bytes())
        about = {
            "schema_version": 3,
            "grade": True,
            "solution": False,
            "locked": True,
            "task": False,
            "grade_id": HIDDEN_CELL,
            "cell_type": "code",
            "points": self._exercise.max_score(),
        }
        source = self._rendered(f"hidden_cell.py{TEMPLATE_SUFFIX}", exercise=self._exercise.id)
        cell: dict[str, object] = {"cell_type": "code", "execution_count": None, "outputs": [], "source": source}
        notebook["cells"].append({**cell, "metadata": {"nbgrader": about}})
        content = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        return {Path("source") / self._exercise.id / starter.name: content.encode()}


def _kit_files() -> dict[Path, bytes]:
    paths = [path for path in sorted(KIT.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(KIT.parent): path.read_bytes() for path in paths}


def pins() -> list[str]:
    """What the kit needs, and what that needs in turn, each at the version that is installed here."""
    found: dict[str, str] = {}
    wanted = ["grader"]
    while wanted:
        for line in metadata.requires(wanted.pop()) or []:
            needed = Requirement(line)
            name = canonicalize_name(needed.name)
            if name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
                found[name] = metadata.version(name).split("+")[0]  # a build for processors alone says so there
                wanted.append(name)
    return [f"{name}=={found[name]}" for name in sorted(found)]


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
