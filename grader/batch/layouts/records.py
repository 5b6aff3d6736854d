"""What a layout finds: submissions as files or text, and what is none."""

import os
from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct, field

from grader.report.page import printable

SUFFIXES = (".py", ".ipynb")
"""Those of submissions, the module's first."""

FILES = ("attention.py", "attention.ipynb")
"""What is handed in where an exercise has a folder of its own."""

SHOWN = 10
"""How many things of one kind are named; the others are counted."""

LEFT_BEHIND = "left by systems, or handed out beside an exercise"
"""The kind of things that are only counted."""

UNKNOWN, STRAY, LINK = "no such exercise", "no submission", "a link, not followed"
TWICE, CLOSED = "handed in twice", "cannot be opened"
UNTOLD = "of no exercise that its names tell; name it with --exercise"
RENAMED = "called otherwise, taken all the same"
NOTHING = "nothing to judge from"
BROKEN, TOO_LONG = "a broken line", "a line too long"

UNREAD_KINDS = (BROKEN, TOO_LONG, CLOSED)
"""What may have held submissions and could not be read."""

BY_THE_WAY = {"README.md", "__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
"""What the course hands out beside the files to edit, and what systems leave in folders; dot-files are more of it."""


class SubmissionFiles(Struct, frozen=True):
    """One submission as it was handed in: its files below the folder, the module first, or its text.

    `place` is how records call it; `position` is how far through all submissions it stands. `student` is an id, `name`
    what the layout calls the student besides, `aliases` by what a roster may know the student; `submitted_at` is in
    UTC. All are empty where the layout does not tell. `root` is the folder that the files lie below, where it is not
    the layout's, and `prefix` how records call it.
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


class Layout(Protocol):
    """How submissions lie in a folder or file; `total` is the position of what stands last."""

    name: str
    total: int

    def __iter__(self) -> Iterator[SubmissionFiles]: ...


class SkippedFiles(Struct):
    """What was found and is no submission, counted by kind, with the first few of each."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, what: str) -> None:
        """Count one thing of a kind; `what` is a submission's or a student's text."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < SHOWN and kind != LEFT_BEHIND:
            examples.append(printable(what))

    def lines(self) -> list[str]:
        """A line for each thing, and one for the others of its kind."""
        lines = []
        for kind, count in self.counts.items():
            examples = self.examples[kind]
            lines += [f"{kind}: {what}" for what in examples]
            if count > len(examples):
                lines.append(f"{kind}: {count - len(examples):,} {'more' if examples else 'in all'}")
        return lines

    def named(self) -> int:
        """How many things there were that a line tells of."""
        return sum(count for kind, count in self.counts.items() if kind != LEFT_BEHIND)

    def is_all_read(self) -> bool:
        """Whether nothing that could not be read may have been a submission."""
        return not any(kind in self.counts for kind in UNREAD_KINDS)


def is_by_the_way(name: str) -> bool:
    """Whether a file is not worth a word."""
    return name in BY_THE_WAY or name.startswith(".")


def storable(name: str) -> str:
    """A file's name as text: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
