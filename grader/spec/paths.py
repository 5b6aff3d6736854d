"""The paths of a course's files: each follows from an exercise's id."""

from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.spec.course_folder import course_folder
from grader.spec.exercise_names import EXERCISE_ID, exercise_number

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the kit's own modules."""

MAX_NAMED = 9

HOW_TO_WORK = "\n## How to work on it"
"""The heading of the last section of an exercise's README."""

STARTERS = ".starter"

SEALED = ".sealed"
"""The folder of a student edition with what students need not see: descriptions and recorded answers."""

USUAL_MODULE = "attention.py"
"""The name of an exercise's module if the exercise has no starter yet."""


VARIATIONS = "variations.py"
"""The name of the file of classes that checks build in place of the submission's, beside the exercise.yaml."""

TRAP = "trap.py"
"""The name of a file of tests that a student writes."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """A folder with `exercises/` and, unless it is a student edition, `solutions/` and `tests/hidden/`."""

    root: Path

    def exercise_ids(self) -> list[str]:
        """Return all ids in the order of their numbers."""
        folders = (self.root / "exercises").iterdir()
        return sorted((each.name for each in folders if EXERCISE_ID.fullmatch(each.name)), key=exercise_number)

    def first_exercise(self) -> str:
        """Return the first id; raise `UsageError` if the course has no exercises."""
        ids = self.exercise_ids()
        if not ids:
            raise UsageError(f"there is no exercise in {self.root / 'exercises'}; make one with python -m grader new")
        return ids[0]

    def require(self, exercise_id: str) -> None:
        """Raise `UsageError` unless the exercise exists."""
        if exercise_id not in self.exercise_ids():
            raise UsageError(f"there is no {exercise_id} here; {self.listed()}")

    def listed(self) -> str:
        """Return a sentence that lists the exercises, or the first and the last one if there are many."""
        ids = self.exercise_ids()
        if not ids:
            return "there are no exercises yet"
        if len(ids) <= MAX_NAMED:
            return f"the exercises are {', '.join(ids)}"
        return f"the exercises are {ids[0]} to {ids[-1]}, and python -m grader lists them"

    def exercise_folder(self, exercise_id: str) -> Path:
        return self.root / "exercises" / exercise_id

    def story(self, exercise_id: str) -> str:
        """Return the exercise's README without the section for people who work at a keyboard."""
        readme = self.exercise_folder(exercise_id) / "README.md"
        return readme.read_text(encoding="utf-8").partition(HOW_TO_WORK)[0]

    def module_name(self, exercise_id: str) -> str:
        """Return the file name of the exercise's module and starter, such as `attention.py`."""
        starters = sorted(self.starters(exercise_id).glob("*.py"))
        return starters[0].name if starters else USUAL_MODULE

    def module_names(self) -> dict[str, str]:
        """Return the name of each exercise's module, by exercise."""
        return {exercise_id: self.module_name(exercise_id) for exercise_id in self.exercise_ids()}

    def editable_files(self, exercise_id: str) -> tuple[Path, Path]:
        """Return the two files that a student may edit: the module and its notebook."""
        module = self.exercise_folder(exercise_id) / self.module_name(exercise_id)
        return module, module.with_suffix(".ipynb")

    def shown(self, path: Path) -> str:
        """Return a path as verdicts show it: relative to the course if it is inside the course."""
        absolute = path.absolute()
        return str(absolute.relative_to(self.root)) if absolute.is_relative_to(self.root) else str(path)

    def starters(self, exercise_id: str) -> Path:
        """Return the folder with the untouched copies of the files that a student edits."""
        return self.exercise_folder(exercise_id) / STARTERS

    def pristine(self, path: Path) -> Path:
        """Return the untouched copy of a file that a student edits."""
        return path.parent / STARTERS / path.name

    def description(self, exercise_id: str) -> Path:
        """Return the path of the exercise.yaml. A student edition has it in a hidden folder."""
        has_solutions = (self.root / "solutions").is_dir()
        return self.root / ("solutions" if has_solutions else SEALED) / exercise_id / "exercise.yaml"

    def reference(self, exercise_id: str) -> Path:
        return self.root / "solutions" / exercise_id / self.module_name(exercise_id)

    def reference_text(self, exercise_id: str) -> str:
        return self.reference(exercise_id).read_text(encoding="utf-8")

    def variations(self, exercise_id: str) -> Path:
        """Return the path of the classes that checks build in place of the submission's; it may be absent."""
        return self.description(exercise_id).with_name(VARIATIONS)

    def key(self, exercise_id: str) -> Path:
        return self.description(exercise_id).parent / "key.json"

    def answers(self, exercise_id: str) -> Path:
        """Return the path of the recorded answers of a sealed edition."""
        return self.root / SEALED / exercise_id / "answers.safetensors"

    def explanations(self, exercise_id: str) -> Path:
        """Return the path of the locked explanations of a sealed edition."""
        return self.root / SEALED / exercise_id / "explanations.safetensors"

    def hidden_tests(self, exercise_id: str) -> Path:
        return self.root / "tests" / "hidden" / exercise_id

    def judged_by(self, exercise_id: str) -> list[Path]:
        """Return the files on which verdicts depend: exercise.yaml, variations.py, the reference, the hidden tests.

        Files that this edition does not have are omitted.
        """
        files = [self.description(exercise_id), self.variations(exercise_id), self.reference(exercise_id)]
        files += sorted(self.hidden_tests(exercise_id).rglob("*.py"))
        return [file for file in files if file.is_file()]

    def stamps(self, exercise_id: str) -> tuple[tuple[str, int, int], ...]:
        """Return the names, sizes and times of the files of `judged_by`; any change to the files changes the result."""
        return tuple(stamp for path in self.judged_by(exercise_id) if (stamp := stamp_of(path)))

    def alternatives(self, exercise_id: str) -> Path:
        """Return the folder of correct solutions that are written differently from the reference."""
        return self.root / "tests" / "corpus" / "alternatives" / exercise_id

    def trap(self, exercise_id: str) -> Path:
        """Return the path of the student's tests of an exercise."""
        return self.exercise_folder(exercise_id) / TRAP

    def model_trap(self, exercise_id: str) -> Path:
        """Return the path of the tests that prove that a trap can be written."""
        return self.root / "solutions" / exercise_id / TRAP

    def secret_folders(self) -> tuple[str, ...]:
        """Return the folders that submissions must not read: they contain references, hidden tests and others' work."""
        return tuple(str((self.root / name).absolute()) for name in ("exercises", "solutions", "tests", SEALED))

    def state_folder(self) -> Path:
        """Return the folder of the kit's own files: progress, hints given, copies of students' files, caches."""
        return self.root / ".grader"


def stamp_of(path: Path) -> tuple[str, int, int] | None:
    """Return a file's name, size and time, which show whether it has changed; None if it cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return None
    return str(path), status.st_size, status.st_mtime_ns


def find_course(start: Path) -> Course:
    """Return the course that contains `start`, or else the course from which this package was installed.

    Raise `UsageError` if there is neither.
    """
    root = course_folder(str(start))
    if root is not None:
        return Course(root=Path(root))
    raise UsageError(
        f"there is no exercises/ in {start} or in a folder above it; run the command inside the course's folder"
    )
