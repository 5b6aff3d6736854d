"""An entry -> what is judged."""

import hashlib
import os
from pathlib import Path

from msgspec import Struct, field

from grader.course.paths import Course
from grader.report.page import printable
from grader.submission import Submission, Unreadable, submission_from_text
from grader.submission.choice import SourceFile, choose_between, read_source
from grader.submission.module import unix_lines

SHOWN = 10
"""How many things of one kind are named; the others are counted."""


LEFT_BEHIND = "left by systems, or handed out beside an exercise"
"""The kind of things that are only counted."""


class Entry(Struct, frozen=True):
    """One submission as it was handed in: its files below the folder, the module first, or its text.

    `place` is how records call it; `position` is how far through all submissions it stands.
    """

    student: str
    exercise: str
    place: str
    position: int
    files: tuple[str, ...] = ()
    source: str = ""


class PassedOver(Struct):
    """What was passed over, counted by kind, with the first few of each."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, what: str) -> None:
        """Remember one thing of a kind; `what` is a submission's or a student's text."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < SHOWN and kind != LEFT_BEHIND:
            examples.append(printable(what))

    def lines(self) -> list[str]:
        """A line for each thing, and one for the others of its kind."""
        told = []
        for kind, count in self.counts.items():
            examples = self.examples[kind]
            told += [f"{kind}: {what}" for what in examples]
            if count > len(examples):
                told.append(f"{kind}: {count - len(examples):,} {'more' if examples else 'in all'}")
        return told


GONE = "it was there when the folder was listed and was gone when it was to be read; put it back, or leave it out"


class Taken(Struct, frozen=True):
    """What an entry comes to: the source or why there is none, the file it is from, and what to say about the choice.

    `is_gone` says that a file vanished since the folder was listed.
    """

    submission: Submission | Unreadable
    file: str
    remark: str = ""
    is_gone: bool = False

    def digest(self) -> str:
        """Equal for sources that a verdict cannot tell apart: the same chunks under the same labels."""
        digest = hashlib.sha256()
        if isinstance(self.submission, Unreadable):
            digest.update(b"unreadable\0" + self.submission.reason.encode("utf-8", "backslashreplace"))
        else:
            for chunk in self.submission.chunks:
                digest.update(f"{chunk.label}\0{chunk.text}\0".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


class EntryReader:
    """Reads entries below a folder."""

    def __init__(self, course: Course, root: Path) -> None:
        self._root = root
        self._course = course

    def take(self, entry: Entry) -> Taken:
        """The submission of an entry; of a module and a notebook, the one that counts."""
        if not entry.files:
            return Taken(_from_line(entry.source), entry.place)
        read = [self._read(file) for file in entry.files]
        there = [file for file in read if not file.is_gone()] or read[:1]
        if len(there) == 1:
            return _taken(there[0], self._root)
        chosen, other, why = choose_between(self._course, entry.exercise, *there)
        return _taken(chosen, self._root, f"{storable(other.path.name)} was handed in too: {why}")

    def _read(self, file: str) -> SourceFile:
        path = self._root / file
        return read_source(path, storable(path.name), inside=self._root)


def _taken(file: SourceFile, root: Path, remark: str = "") -> Taken:
    return Taken(file.read, storable(os.fspath(file.path.relative_to(root))), remark, file.is_gone())


def _from_line(source: str) -> Submission | Unreadable:
    """A submission that came as text."""
    if "\0" in source:
        return Unreadable("the source holds a NUL character, so it is not Python; send it as it was written")
    if not source.strip():
        return Unreadable("the source is empty; send the whole file's text")
    return submission_from_text(unix_lines(source))


def storable(name: str) -> str:
    """A file's name as text: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
