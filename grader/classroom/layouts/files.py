"""The results of reading a layout: submissions as files or text, and files that are not submissions."""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Protocol

from msgspec import Struct

from grader.classroom.gradebook.rows import WorkKind
from grader.report.printable import printable
from grader.spec.files import READ
from grader.spec.paths import USUAL_MODULE
from grader.submission.reading import NO_LINK

SUFFIXES = (".py", ".ipynb")
"""Suffixes of submissions, the module's first."""

ModuleNames = Mapping[str, str]
"""The name of each exercise's module, by the exercise's id."""

MAX_EXAMPLES = 10
"""How many files of one kind are named among those of students; the remaining ones are counted."""

MAX_NAMES = 1_000
"""How many files of one kind are named if they are unusual, or if they may be somebody's only submission."""

MAX_EXAMPLES_OF_STUDENT = 2
"""How many of the named files may belong to one student, so that nobody can hide others' files behind their own."""


class SkippedKind(StrEnum):
    """The kinds of files that a report names: files that are not graded, and remarks on files that are."""

    LEFT_BEHIND = "left-behind"
    """The only kind whose files are never named."""
    UNKNOWN = "unknown"
    STRAY = "stray"
    LINK = "link"
    TWICE = "twice"
    CLOSED = "closed"
    NO_EXERCISE = "no-exercise"
    RENAMED = "renamed"
    NOTHING = "nothing"
    BROKEN = "broken"
    TOO_LONG = "too-long"
    TOO_MUCH = "too-much"
    TOO_MANY = "too-many"
    NO_TIME = "no-time"
    SAME_ID = "same-id"
    OUTSIDE = "outside"


USUAL_KINDS = (SkippedKind.UNKNOWN, SkippedKind.STRAY, SkippedKind.TWICE, SkippedKind.NO_EXERCISE, SkippedKind.RENAMED)
"""Kinds of files that many students hand in beside a submission."""

LINE_KINDS = (SkippedKind.BROKEN, SkippedKind.TOO_LONG)

UNREAD_KINDS = (*LINE_KINDS, SkippedKind.CLOSED, SkippedKind.TOO_MUCH, SkippedKind.TOO_MANY)
"""Kinds of files that may contain submissions and could not be read."""

CLUTTER = {"README.md", "__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
"""Files that the course hands out beside the exercise, or that operating systems create. All dot-files count too."""


FOLDERS_OF_SYSTEMS = {
    *("__MACOSX", "__pycache__", ".git", ".github", ".ipynb_checkpoints", ".vscode", ".idea", ".venv"),
    *(".fseventsd", ".Spotlight-V100", ".Trashes", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".jupyter"),
}
"""Folders that are nobody's hand-in, wherever they are."""


class SubmissionFiles(Struct, frozen=True, kw_only=True):
    """One submission as it was handed in: its files, the module first, or its text.

    `place` is the submission's name in reports, and `position` its position among all submissions. `student` is an id,
    `name` the student's name in the layout, and `aliases` are all names by which a roster may list the student.
    `submitted_at` is in UTC. Fields that the layout does not have are empty. `files` are relative to `root`, or to the
    layout's root if `root` is empty; `prefix` comes before their names in reports.
    """

    student: str
    exercise: str
    place: str
    position: int
    files: tuple[str, ...] = ()
    source: str = ""
    name: str = ""
    submitted_at: str = ""
    aliases: tuple[str, ...] = ()
    root: str = ""
    prefix: str = ""
    kind: WorkKind = WorkKind.MODULE


class Person(Struct, frozen=True, kw_only=True):
    """A student's id in a layout, and all names by which a roster may list the student."""

    student: str
    aliases: tuple[str, ...]


class Submissions(Protocol):
    """The submissions in a folder or file; `total` is the position of the last one.

    A submission's unpacked files are deleted when the next submission is requested.
    """

    name: str
    total: int

    def people(self) -> Iterator[Person]:
        """Yield everyone who may have handed in something."""

    def __iter__(self) -> Iterator[SubmissionFiles]: ...


WORDS = {
    SkippedKind.LEFT_BEHIND: "left by operating systems, or handed out beside an exercise",
    SkippedKind.UNKNOWN: "no such exercise",
    SkippedKind.STRAY: "no submission",
    SkippedKind.LINK: "a link, not followed",
    SkippedKind.TWICE: "handed in twice",
    SkippedKind.CLOSED: "cannot be opened",
    SkippedKind.NO_EXERCISE: "the file name does not name the exercise; name it with --exercise",
    SkippedKind.RENAMED: "unusual file name, graded anyway",
    SkippedKind.NOTHING: "contains nothing to grade",
    SkippedKind.BROKEN: "a broken line",
    SkippedKind.TOO_LONG: "a line too long",
    SkippedKind.TOO_MUCH: "an archive that is too large",
    SkippedKind.TOO_MANY: "more files than are read for one student",
    SkippedKind.NO_TIME: "an invalid time, left out",
    SkippedKind.SAME_ID: "several students with one id; each is graded under a separate id",
    SkippedKind.OUTSIDE: "a path that leads out of its archive",
}
"""The words that the lines of a report begin with."""


class SkippedFiles:
    """Counts the files of each kind that are not graded, and keeps the names of the first few."""

    def __init__(self) -> None:
        self.counts: dict[SkippedKind, int] = {}
        self.examples: dict[SkippedKind, list[str]] = {}
        self.student = ""
        """The student whose files are being read. If empty, a name may stand for somebody without a submission."""
        self._named: dict[tuple[SkippedKind, str], int] = {}
        self._total: dict[tuple[SkippedKind, bool], int] = {}
        """The number of named files of each kind: those that belong to a student, and those that belong to nobody."""

    def add(self, kind: SkippedKind, text: str, reason: str = "") -> None:
        """Count one file of a kind. `text` comes from a submission or a student, and may be long."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        examples = self.examples.setdefault(kind, [])
        named = self._named.get((kind, self.student), 0)
        most = MAX_EXAMPLES if kind in LINE_KINDS or (self.student and kind in USUAL_KINDS) else MAX_NAMES
        is_one_too_many = bool(self.student) and named >= MAX_EXAMPLES_OF_STUDENT
        total = self._total.get((kind, bool(self.student)), 0)
        if kind is not SkippedKind.LEFT_BEHIND and not is_one_too_many and total < most:
            self._named[kind, self.student] = named + 1
            self._total[kind, bool(self.student)] = total + 1
            examples.append(printable(text) + (f" ({printable(reason)})" if reason else ""))

    def lines(self) -> list[str]:
        """Return a line for each named file, and one line for the remaining files of each kind."""
        lines = []
        for kind, count in self.counts.items():
            examples = self.examples[kind]
            lines += [f"{WORDS[kind]}: {text}" for text in examples]
            if count > len(examples):
                lines.append(f"{WORDS[kind]}: {count - len(examples):,} {'more' if examples else 'in all'}")
        return lines

    def count_named(self) -> int:
        """Return how many files are named."""
        return sum(map(len, self.examples.values()))

    def is_all_read(self) -> bool:
        """Return whether everything that may contain a submission could be read."""
        return not any(kind in self.counts for kind in UNREAD_KINDS)


def stems(exercises: ModuleNames) -> set[str]:
    """Return the names, without suffix, of files to hand in; the usual name is accepted for every exercise."""
    return {Path(name).stem for name in (USUAL_MODULE, *exercises.values())}


def is_clutter(name: str) -> bool:
    """Return whether a file belongs to the course or to an operating system, not to the submission."""
    return name in CLUTTER or name.startswith(".")


def list_folder(folder: Path) -> list[str]:
    """Return the sorted names in a folder, without clutter. Raise `OSError` if it cannot be opened."""
    return sorted(name for name in os.listdir(folder) if not is_clutter(name))


def list_folder_if_readable(folder: Path, skipped: SkippedFiles | None = None) -> list[str]:
    """Return `list_folder`, or nothing and record the folder if it cannot be opened or was deleted meanwhile."""
    try:
        return list_folder(folder)
    except OSError as error:
        if skipped is not None:
            skipped.add(SkippedKind.CLOSED, storable(folder.name), error.strerror or "")
        return []


def report_hidden_folders(folder: Path, prefix: str, skipped: SkippedFiles) -> None:
    """Record the folders that nobody reads because of their names; somebody may have handed in something there."""
    with contextlib.suppress(OSError):  # what cannot be listed is recorded elsewhere
        for name in sorted(os.listdir(folder)):
            if is_clutter(name) and name not in FOLDERS_OF_SYSTEMS and is_own_folder(folder / name):
                skipped.add(SkippedKind.STRAY, storable(prefix + name))


def is_own_folder(path: Path) -> bool:
    """Return whether the path is a folder and not a link to a folder."""
    return path.is_dir() and not path.is_symlink()


def open_ordinary(path: Path) -> BinaryIO:
    """Open an ordinary file. Raise `OSError` for a link, a folder, or a pipe, without waiting for its other end."""
    descriptor = os.open(path, READ | NO_LINK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError("it is not an ordinary file")


def storable(name: str) -> str:
    """Return a file's name as text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
