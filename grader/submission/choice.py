"""Which of an exercise's two files counts: the one that was edited; of two the newer, of equally new the module.

Everything that judges, shows or compares a student's work chooses here.
"""

import re
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from grader.spec.paths import Course
from grader.submission.reading import read_submission
from grader.submission.submission import Submission, Unreadable

STARTERS_REMEMBERED = 256
COPY = r"(?:copy[ _]of[ _])?{stem}(?:[ _-]?\(\d+\)|[ _-]?copy\d*)?\.(?:py|ipynb)"
"""What browsers, Jupyter and Colab call a copy of a file with this stem."""


class Choice(Struct, frozen=True):
    """The file that counts, what is in it, and what to say first about the choice."""

    path: Path
    read: Submission | Unreadable
    remark: str = ""

    def digest(self) -> str:
        """The same for the same file with the same source."""
        return f"{self.path}: " + (self.read.digest() if isinstance(self.read, Submission) else self.read.reason)


class Why(StrEnum):
    """Why one of two files counts; of the other, in words."""

    NEITHER = "neither was edited"
    ONLY = "it is as it was handed out"
    NEWER = "both were edited, and the newer counts"
    NO_STARTER = "there is no .starter to tell which was edited, and the newer counts"
    SAME_TIME = "both were edited at the same time, and the module counts"
    UNREADABLE = "it cannot be read"


class SourceFile(Struct, frozen=True):
    """A file that was read; `modified` says when it was last written, in nanoseconds, or 0 where it is not there."""

    path: Path
    read: Submission | Unreadable
    modified: int = 0

    def is_gone(self) -> bool:
        """Whether nothing is there."""
        return not self.modified and isinstance(self.read, Unreadable)


def choose_file(course: Course, exercise_id: str) -> Choice:
    """What a student has of an exercise; a file that goes while it is looked at is unreadable."""
    module, notebook = (read_source(path, path.name) for path in course.editable_files(exercise_id))
    chosen, other, why = choose_between(course, exercise_id, module, notebook)
    read = chosen.read
    if isinstance(read, Unreadable) and read.is_nothing:
        has_starter = course.pristine(chosen.path).is_file()
        way = "run `reset` to get the starter back" if has_starter else "unpack the course again for the starter"
        read = Unreadable(f"{read.reason}, or {way}")
    return Choice(chosen.path, read, _remark(chosen, other, why) or _newer_copy(chosen))


def choice_of(path: Path) -> Choice:
    """The file that somebody named."""
    return Choice(path, read_submission(path, path.name))


def choose_between(
    course: Course, exercise_id: str, module: SourceFile, notebook: SourceFile
) -> tuple[SourceFile, SourceFile, Why]:
    """The file that counts, the other one, and why."""
    files = (module, notebook)
    pairs = zip(files, course.editable_files(exercise_id), strict=True)
    edited = [file for file, own in pairs if file.modified and _differs(file.read, course.pristine(own))]
    readable = [file for file in edited if isinstance(file.read, Submission)]
    if not edited:
        return module, notebook, Why.NEITHER
    if len(edited) == 1:
        chosen, why = edited[0], Why.ONLY
    elif len(readable) == 1:
        chosen, why = readable[0], Why.UNREADABLE
    elif None in [_starter(course.pristine(own)) for own in course.editable_files(exercise_id)]:
        chosen, why = max(files, key=lambda file: file.modified), Why.NO_STARTER
    elif module.modified == notebook.modified:
        chosen, why = module, Why.SAME_TIME
    else:
        chosen, why = max(files, key=lambda file: file.modified), Why.NEWER
    return chosen, notebook if chosen is module else module, why


def is_edited(course: Course, path: Path) -> bool:
    """Whether the code differs from the starter's; a notebook's outputs and a file's line endings do not count."""
    return path.is_file() and _differs(read_submission(path, path.name), course.pristine(path))


def read_source(path: Path, name: str, inside: Path | None = None) -> SourceFile:
    """A file as `read_submission` reads it, and its time."""
    try:
        modified = max(path.stat(follow_symlinks=inside is None).st_mtime_ns, 1)
    except (OSError, ValueError):  # gone, or a name that no file has
        modified = 0
    return SourceFile(path, read_submission(path, name, inside=inside), modified)


def _differs(read: Submission | Unreadable, pristine: Path) -> bool:
    """Whether this is not what was handed out; what cannot be read is not, nor what there is no starter of any more."""
    starter = _starter(pristine)
    return starter is None or isinstance(read, Unreadable) or _texts(read) != starter


def _starter(pristine: Path) -> tuple[str, ...] | None:
    try:
        status = pristine.stat()
    except OSError:
        return None
    return _read_starter(pristine, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=STARTERS_REMEMBERED)
def _read_starter(pristine: Path, _size: int, _modified: int) -> tuple[str, ...] | None:
    starter = read_submission(pristine, pristine.name)
    return None if isinstance(starter, Unreadable) else _texts(starter)


def _texts(submission: Submission) -> tuple[str, ...]:
    return tuple(chunk.text for chunk in submission.chunks)


def _newer_copy(chosen: SourceFile) -> str:
    """What is said of a copy that is newer, as browsers name downloads and Jupyter its copies: it does not count."""
    folder, stem = chosen.path.parent, chosen.path.stem
    copy = re.compile(COPY.format(stem=re.escape(stem)), re.IGNORECASE)
    copies = [each for each in sorted(folder.glob("*")) if copy.fullmatch(each.name) and each.stem != stem]
    times = {each: read_source(each, each.name).modified for each in copies}
    newer = max((each for each in copies if times[each] > chosen.modified), key=times.__getitem__, default=None)
    if newer is None:
        return ""
    rename = f"name it {stem}{newer.suffix} if it is your work"
    return f"{newer.name} is newer, and is not looked at; {rename}. This is about {chosen.path.name}."


def _remark(chosen: SourceFile, other: SourceFile, why: Why) -> str:
    """What a student is told first; nothing where there was no choice."""
    module, notebook = sorted((chosen.path.name, other.path.name), key=lambda name: name.lower().endswith(".ipynb"))
    about = f"this is about {chosen.path.name}"
    match why:
        case Why.NEWER:
            return f"Both {module} and {notebook} were edited; {about}, the newer one."
        case Why.NO_STARTER:
            back = "unpack the course again for it"
            return f"No .starter tells which of {module} and {notebook} was edited ({back}); {about}, the newer one."
        case Why.SAME_TIME:
            return f"Both {module} and {notebook} were edited at the same time; {about}."
        case Why.UNREADABLE if isinstance(other.read, Unreadable):
            return f"Both {module} and {notebook} were edited, and {other.read.reason}; {about}."
    return ""
