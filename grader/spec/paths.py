"""Where a course keeps its things: every path follows from an exercise's id."""

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the kit's own modules."""

MOST_NAMED = 9
EXERCISE_ID = re.compile(r"exercise_\d{2,}")


def exercise_number(exercise_id: str) -> int:
    """Return the number in an exercise's id: the sort key by which exercise_100 follows exercise_11."""
    return int(exercise_id.removeprefix("exercise_"))


STARTERS = ".starter"

USUAL_MODULE = "attention.py"
"""What an exercise's module is called that no starter names."""


@dataclass(frozen=True)
class Course:
    """A folder with `exercises/` and, for those who may know, `solutions/` and `tests/hidden/`."""

    root: Path

    def exercise_ids(self) -> list[str]:
        """Return all ids in the order of their numbers."""
        folders = (self.root / "exercises").iterdir()
        return sorted((each.name for each in folders if EXERCISE_ID.fullmatch(each.name)), key=exercise_number)

    def first_exercise(self) -> str:
        """The first id. `UsageError` in a course that has none."""
        ids = self.exercise_ids()
        if not ids:
            raise UsageError(f"there is no exercise in {self.root / 'exercises'}; make one with python -m grader new")
        return ids[0]

    def require(self, exercise_id: str) -> None:
        """Raise `UsageError` unless the exercise exists."""
        if exercise_id not in self.exercise_ids():
            raise UsageError(f"there is no {exercise_id} here; {self.listed()}")

    def listed(self) -> str:
        """The exercises in a sentence: by their names where there are few."""
        ids = self.exercise_ids()
        if not ids:
            return "there are no exercises yet"
        if len(ids) <= MOST_NAMED:
            return f"the exercises are {', '.join(ids)}"
        return f"the exercises are {ids[0]} to {ids[-1]}, and python -m grader lists them"

    def exercise_folder(self, exercise_id: str) -> Path:
        return self.root / "exercises" / exercise_id

    def module_name(self, exercise_id: str) -> str:
        """What the exercise's module is called (`attention.py`, `loss.py`): as its starter is."""
        starters = sorted(self.starters(exercise_id).glob("*.py"))
        return starters[0].name if starters else USUAL_MODULE

    def module_names(self) -> dict[str, str]:
        """What every exercise's module is called."""
        return {exercise_id: self.module_name(exercise_id) for exercise_id in self.exercise_ids()}

    def editable_files(self, exercise_id: str) -> tuple[Path, Path]:
        """The two files a student may edit: the module and its notebook."""
        module = self.exercise_folder(exercise_id) / self.module_name(exercise_id)
        return module, module.with_suffix(".ipynb")

    def shown(self, path: Path) -> str:
        """A path as verdicts show it: inside the course where it lies there."""
        absolute = path.absolute()
        return str(absolute.relative_to(self.root)) if absolute.is_relative_to(self.root) else str(path)

    def starters(self, exercise_id: str) -> Path:
        """The folder with the untouched copies of the files that a student edits."""
        return self.exercise_folder(exercise_id) / STARTERS

    def pristine(self, path: Path) -> Path:
        """The untouched copy of a file that a student edits."""
        return path.parent / STARTERS / path.name

    def description(self, exercise_id: str) -> Path:
        """The exercise.yaml: the whole one, or in a student edition, which has no `solutions/`, the public one."""
        home = self.root / "solutions" if (self.root / "solutions").is_dir() else self.root / "exercises"
        return home / exercise_id / "exercise.yaml"

    def reference(self, exercise_id: str) -> Path:
        return self.root / "solutions" / exercise_id / self.module_name(exercise_id)

    def key(self, exercise_id: str) -> Path:
        return self.description(exercise_id).parent / "key.json"

    def answers(self, exercise_id: str) -> Path:
        """In a sealed edition: what the reference answered."""
        return self.exercise_folder(exercise_id) / "answers.safetensors"

    def hidden_tests(self, exercise_id: str) -> Path:
        return self.root / "tests" / "hidden" / exercise_id

    def judged_by(self, exercise_id: str) -> list[Path]:
        """What an exercise is judged by, as far as it is there: description, reference and hidden tests."""
        files = [self.description(exercise_id), self.reference(exercise_id)]
        files += sorted(self.hidden_tests(exercise_id).rglob("*.py"))
        return [file for file in files if file.is_file()]

    def stamps(self, exercise_id: str) -> tuple[tuple[str, int, int], ...]:
        """Names, sizes and times of what an exercise is judged by: others when a file is changed, added or gone."""
        found = []
        for path in self.judged_by(exercise_id):
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((str(path), status.st_size, status.st_mtime_ns))
        return tuple(found)

    def alternatives(self, exercise_id: str) -> Path:
        """Right fixes, written in other ways than the reference."""
        return self.root / "tests" / "corpus" / "alternatives" / exercise_id

    def secret_folders(self) -> tuple[str, ...]:
        """What no submission may read while it is judged: what it is judged by, and others' work."""
        return tuple(str((self.root / name).absolute()) for name in ("exercises", "solutions", "tests"))

    def state_folder(self) -> Path:
        """Where the kit remembers: last verdicts, hints given, kept copies, what this machine has proven."""
        return self.root / ".grader"


def find_course(start: Path) -> Course:
    """The course that `start` lies in, or else the one this package was installed from."""
    beside_package = PACKAGE.parent
    for folder in (start, *start.parents, beside_package):
        if (folder / "exercises").is_dir():
            return Course(folder)
    raise UsageError(f"no exercises/ in {start} or above it; run this inside the course's folder")


REMEDIES = {
    errno.ENOSPC: "free some space on the disk",
    errno.EDQUOT: "free some space on the disk",
    errno.EACCES: "change the permissions",
    errno.EPERM: "change the permissions",
    errno.EROFS: "change the permissions",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def write_product(path: Path, content: bytes) -> None:
    """Write an output file that the user asked for. Raise `UsageError` if that fails; then no part of it is left."""
    with product_draft(path) as draft:
        draft.write_bytes(content)


@contextlib.contextmanager
def product_draft(path: Path) -> Iterator[Path]:
    """Yield the path of a draft that takes the place of the output file at the end.

    A link is followed. A pipe, a socket or a device stays what it is: the draft's content is written into it.
    Raise `UsageError` if the draft cannot be made or moved; then no part of it is left.
    """
    try:
        if is_special_file(path):
            with tempfile.TemporaryDirectory() as folder:
                draft = Path(folder) / "draft"
                yield draft
                with draft.open("rb") as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target)
        else:
            with _draft(Path(os.path.realpath(path))) as draft:
                yield draft
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, "name another file")
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}; {remedy}") from None


def is_special_file(path: Path) -> bool:
    """Return whether the path leads to a pipe, a socket or a device."""
    try:
        mode = path.stat().st_mode
    except OSError:  # missing, or a name that the file system refuses: writing explains it
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def write_cache(path: Path, content: bytes) -> None:
    """Write a file the kit can do without: whole or not at all, and not at all where the disk does not take it."""
    with contextlib.suppress(OSError), _draft(path) as draft:
        draft.write_bytes(content)


def write_versioned_cache(path: Path, content: bytes) -> None:
    """Write `<name>-<digest><suffix>`, which the kit can do without, in place of those of the name's other digests."""
    write_cache(path, content)
    name = path.stem.rpartition("-")[0]
    with contextlib.suppress(OSError):
        for other in path.parent.glob(f"{name}-*{path.suffix}"):
            if other != path:
                other.unlink(missing_ok=True)


@contextlib.contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """Readers and other writers, of this process too, see the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{os.urandom(8).hex()}.draft")  # not longer than most names: names have a limit
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)  # it is gone where it has become the file
