"""Choose between an exercise's two files, the module and the notebook.

The edited file is graded. If both were edited, the newer one is graded; if both are equally new, the module.
Everything that grades, shows or compares a student's work uses these functions.
"""

import re
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from grader.spec.paths import Course
from grader.submission.reading import read_submission
from grader.submission.submission import Submission, Unreadable

MAX_CACHED_STARTERS = 256
COPY = r"(?:copy[ _]of[ _])?{stem}(?:[ _-]?\(\d+\)|[ _-]?copy\d*)?\.(?:py|ipynb)"
"""The names that browsers, Jupyter and Colab give to copies of a file with this stem."""


class Choice(Struct, frozen=True, kw_only=True):
    """The file that is graded."""

    path: Path
    read: Submission | Unreadable
    remark: str = ""
    """A sentence for the student about the choice; empty if there was nothing to choose."""

    def digest(self) -> str:
        """Return a text that changes with the file's path and its source."""
        return f"{self.path}: " + (self.read.digest() if isinstance(self.read, Submission) else self.read.reason)


class ChoiceReason(StrEnum):
    """Why one of two files is graded, worded as a remark on the other one."""

    NEITHER = "neither was edited"
    ONLY = "it was not edited"
    NEWER = "both were edited, so the newer one is graded"
    NO_STARTER = "without .starter, edits cannot be detected, so the newer one is graded"
    SAME_TIME = "both were edited at the same time, so the module is graded"
    UNREADABLE = "it cannot be read"


class SourceFile(Struct, frozen=True, kw_only=True):
    """A file that was read."""

    path: Path
    read: Submission | Unreadable
    modified: int = 0
    """The time of the last change in nanoseconds; 0 if the file does not exist."""

    def is_missing(self) -> bool:
        """Return whether the file does not exist."""
        return not self.modified and isinstance(self.read, Unreadable)


def choose_file(course: Course, exercise_id: str) -> Choice:
    """Return the file of a student's course that is graded."""
    module, notebook = (read_source(path, path.name) for path in course.editable_files(exercise_id))
    chosen, other, reason = choose_between(course, exercise_id, module, notebook)
    read = chosen.read
    if isinstance(read, Unreadable) and read.is_missing_or_empty:
        has_starter = course.pristine(chosen.path).is_file()
        remedy = "run `reset` to get the starter back" if has_starter else "unpack the course again for the starter"
        read = Unreadable(reason=f"{read.reason}, or {remedy}")
    return Choice(path=chosen.path, read=read, remark=_remark(chosen, other, reason) or _newer_copy(chosen))


def choice_of(path: Path) -> Choice:
    """Return the choice of a file that the user named."""
    return Choice(path=path, read=read_submission(path, path.name))


def choose_between(
    course: Course, exercise_id: str, module: SourceFile, notebook: SourceFile
) -> tuple[SourceFile, SourceFile, ChoiceReason]:
    """Return the file that is graded, the other file, and the reason."""
    files = (module, notebook)
    pairs = zip(files, course.editable_files(exercise_id), strict=True)
    edited = [file for file, own in pairs if file.modified and _differs(file.read, course.pristine(own))]
    readable = [file for file in edited if isinstance(file.read, Submission)]
    if not edited:
        return module, notebook, ChoiceReason.NEITHER
    if len(edited) == 1:
        chosen, reason = edited[0], ChoiceReason.ONLY
    elif len(readable) == 1:
        chosen, reason = readable[0], ChoiceReason.UNREADABLE
    elif None in [_starter(course.pristine(own)) for own in course.editable_files(exercise_id)]:
        chosen, reason = max(files, key=lambda file: file.modified), ChoiceReason.NO_STARTER
    elif module.modified == notebook.modified:
        chosen, reason = module, ChoiceReason.SAME_TIME
    else:
        chosen, reason = max(files, key=lambda file: file.modified), ChoiceReason.NEWER
    return chosen, notebook if chosen is module else module, reason


def is_edited(course: Course, path: Path) -> bool:
    """Return whether the code differs from the starter's; ignore a notebook's outputs and a file's line ends."""
    return path.is_file() and _differs(read_submission(path, path.name), course.pristine(path))


def read_source(path: Path, name: str, inside: Path | None = None) -> SourceFile:
    """Read a file with `read_submission`, and note the time of its last change."""
    try:
        modified = max(path.stat(follow_symlinks=inside is None).st_mtime_ns, 1)
    except (OSError, ValueError):  # ValueError: the path contains a NUL
        modified = 0
    return SourceFile(path=path, read=read_submission(path, name, inside=inside), modified=modified)


def _differs(read: Submission | Unreadable, pristine: Path) -> bool:
    """Return whether a file differs from its starter; True if one of the two cannot be read."""
    starter = _starter(pristine)
    return starter is None or isinstance(read, Unreadable) or _texts(read) != starter


def _starter(pristine: Path) -> tuple[str, ...] | None:
    try:
        status = pristine.stat()
    except OSError:
        return None
    return _read_starter(pristine, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=MAX_CACHED_STARTERS)
def _read_starter(pristine: Path, _size: int, _modified: int) -> tuple[str, ...] | None:
    starter = read_submission(pristine, pristine.name)
    return None if isinstance(starter, Unreadable) else _texts(starter)


def _texts(submission: Submission) -> tuple[str, ...]:
    return tuple(chunk.text for chunk in submission.chunks)


def _newer_copy(chosen: SourceFile) -> str:
    """Return a sentence about a newer copy, which is not graded; empty if there is none."""
    folder, stem = chosen.path.parent, chosen.path.stem
    copy = re.compile(COPY.format(stem=re.escape(stem)), re.IGNORECASE)
    copies = [each for each in sorted(folder.glob("*")) if copy.fullmatch(each.name) and each.stem != stem]
    times = {each: each.lstat().st_mtime_ns for each in copies}
    newer = max((each for each in copies if times[each] > chosen.modified), key=times.__getitem__, default=None)
    if newer is None:
        return ""
    rename = f"rename it to {stem}{newer.suffix} if it is your work"
    return f"{newer.name} is newer, but was not graded; {rename}. This is about {chosen.path.name}."


def _remark(chosen: SourceFile, other: SourceFile, reason: ChoiceReason) -> str:
    """Return a sentence for the student about the choice; empty if only one file was edited."""
    module, notebook = sorted((chosen.path.name, other.path.name), key=lambda name: name.lower().endswith(".ipynb"))
    about = f"this is about {chosen.path.name}"
    match reason:
        case ChoiceReason.NEWER:
            return f"Both {module} and {notebook} were edited; {about}, the newer one."
        case ChoiceReason.NO_STARTER:
            problem = f"Without .starter, edits of {module} and {notebook} cannot be detected"
            return f"{problem} (unpack the course again for it); {about}, the newer one."
        case ChoiceReason.SAME_TIME:
            return f"Both {module} and {notebook} were edited at the same time; {about}."
        case ChoiceReason.UNREADABLE if isinstance(other.read, Unreadable):
            return f"Both {module} and {notebook} were edited, and {other.read.reason}; {about}."
    return ""
