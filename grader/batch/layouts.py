"""A folder of submissions: DIR/<student>/<exercise>/attention.(py|ipynb) or DIR/<student>/<exercise>.(py|ipynb)."""

import codecs
import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from grader.batch.submissions import LEFT_BEHIND, Entry, PassedOver, storable
from grader.errors import KitError, UsageError
from grader.submission import MAX_FILE_BYTES

SUFFIXES = (".py", ".ipynb")
"""Those of submissions, the module's first."""

FILES = ("attention.py", "attention.ipynb")
"""What is handed in where an exercise has a folder of its own."""

BY_THE_WAY = {"README.md", "__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
"""What the course hands out beside the files to edit, and what systems leave in folders; dot-files are more of it."""

UNKNOWN, STRAY, LINK = "no such exercise", "no submission", "a link, not followed"
TWICE, CLOSED = "handed in twice", "cannot be opened"


class Folder:
    """Submissions in a folder, in order of students and exercises; no link is followed."""

    def __init__(self, root: Path, exercises: Collection[str], passed_over: PassedOver) -> None:
        self._root = root
        self._exercises = exercises
        self._passed_over = passed_over
        try:
            self._names = sorted(os.listdir(root))
        except OSError as error:
            raise UsageError(f"{root} cannot be opened: {error.strerror}; check its permissions") from None
        self.total = len(self._names)

    def __iter__(self) -> Iterator[Entry]:
        known = set(self._names)
        for position, name in enumerate(self._names, 1):
            student = storable(name)
            if student != name and student in known:
                self._passed_over.note(TWICE, student)
                continue
            listed = self._listed(name)
            if listed is not None:
                yield from self._of_student(student, name, position, listed)

    def _of_student(self, student: str, name: str, position: int, listed: list[str]) -> Iterator[Entry]:
        found: dict[str, tuple[str, ...]] = {}
        loose: dict[str, tuple[str, ...]] = {}
        for item in listed:
            path = f"{name}{os.sep}{item}"
            stem, suffix = os.path.splitext(item)  # noqa: PTH122 - a class may have a hundred thousand
            if item in self._exercises:
                files = self._in_exercise(path)
                if files:
                    found[item] = files
            elif stem in self._exercises and suffix in SUFFIXES:
                loose[stem] = (*loose.get(stem, ()), path)
            else:
                self._pass_over(path, item, UNKNOWN if item.startswith("exercise") or suffix in SUFFIXES else STRAY)
        for exercise, files in loose.items():
            if exercise in found:
                self._passed_over.note(TWICE, f"{storable(files[0])}; {storable(found[exercise][0])} is taken")
            else:
                found[exercise] = files
        for exercise in sorted(found):
            files = tuple(sorted(found[exercise], key=_is_notebook))
            yield Entry(student, exercise, storable(files[0]), position, files)

    def _in_exercise(self, folder: str) -> tuple[str, ...]:
        """The module and the notebook in an exercise's folder, as far as they are there."""
        listed = self._listed(folder)
        found = []
        for item in listed or []:
            if item in FILES:
                found.append(f"{folder}{os.sep}{item}")
            else:
                self._pass_over(f"{folder}{os.sep}{item}", item, STRAY)
        if listed is not None and not found:
            self._passed_over.note(STRAY, f"{storable(folder)} holds neither {FILES[0]} nor {FILES[1]}")
        return tuple(found)

    def _listed(self, path: str) -> list[str] | None:
        """What is in a folder, in order; what is none, or a link, is passed over."""
        whole, name = f"{self._root}{os.sep}{path}", path.rpartition(os.sep)[2]
        try:
            if _is_by_the_way(name) or not stat.S_ISDIR(os.lstat(whole).st_mode):
                self._pass_over(path, name, STRAY)
                return None
            return sorted(os.listdir(whole))
        except OSError as error:
            self._passed_over.note(CLOSED, f"{storable(path)} ({error.strerror})")
            return None

    def _pass_over(self, path: str, name: str, kind: str) -> None:
        if _is_by_the_way(name):
            kind = LEFT_BEHIND
        elif (self._root / path).is_symlink():
            kind = LINK
        self._passed_over.note(kind, storable(path))


def _is_notebook(file: str) -> bool:
    return file.endswith(SUFFIXES[1])


def _is_by_the_way(name: str) -> bool:
    return name in BY_THE_WAY or name.startswith(".")


BROKEN, TOO_LONG = "a broken line", "a line too long"
PIECE_BYTES = 1 << 20


class Line(Struct, frozen=True):
    """What a line holds; other keys are nobody's business here."""

    student: str
    exercise: str
    source: str


class Lines:
    """Submissions in a .jsonl file, in the order of the file; the first of a student for an exercise counts."""

    def __init__(self, path: Path, exercises: Collection[str], passed_over: PassedOver) -> None:
        self._path = path
        self._exercises = exercises
        self._passed_over = passed_over
        try:
            with path.open("rb"):
                self.total = path.stat().st_size
        except OSError as error:
            raise UsageError(f"{path} cannot be opened: {error.strerror}; check its permissions") from None

    def __iter__(self) -> Iterator[Entry]:
        decoder = msgspec.json.Decoder(Line)
        seen: set[bytes] = set()
        for number, position, content in self._lines():
            place = f"{self._path.name}, line {number}"
            try:
                line = decoder.decode(content)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                self._passed_over.note(BROKEN, f"{place}: {error}")
                continue
            if line.exercise not in self._exercises:
                self._passed_over.note(UNKNOWN, f"{place}: {line.exercise}")
                continue
            key = hashlib.blake2b(msgspec.json.encode((line.student, line.exercise)), digest_size=16).digest()
            if key in seen:
                self._passed_over.note(TWICE, f"{place}: {line.student}, {line.exercise}; the first is taken")
                continue
            seen.add(key)
            yield Entry(line.student, line.exercise, place, position, source=line.source)

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Number, end and content of each line that is neither empty nor too long."""
        try:
            with self._path.open("rb") as file:
                yield from self._lines_of(file)
        except OSError as error:
            raise KitError(
                f"{self._path} cannot be read to its end: {error.strerror}; what was judged is kept"
            ) from None

    def _lines_of(self, file: IO[bytes]) -> Iterator[tuple[int, int, bytes]]:
        number = 0
        while content := file.readline(MAX_FILE_BYTES + 1):
            number += 1
            if len(content) > MAX_FILE_BYTES:
                self._passed_over.note(TOO_LONG, f"{self._path.name}, line {number}: over {MAX_FILE_BYTES:,} bytes")
                _skip_line(file, content)
            elif content.strip():
                yield number, file.tell(), content.removeprefix(codecs.BOM_UTF8 if number == 1 else b"")


def _skip_line(file: IO[bytes], piece: bytes) -> None:
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(PIECE_BYTES)


LINES_SUFFIXES = (".jsonl", ".ndjson")
LAYOUTS = (
    "DIR/<student>/<exercise>/attention.py (or .ipynb), DIR/<student>/<exercise>.py (or .ipynb), "
    "or a .jsonl file whose lines have student, exercise and source"
)

Layout = Folder | Lines
"""Iterated over, gives entries; `total` is the position of what stands last."""


def find_layout(path: Path, exercises: Collection[str], passed_over: PassedOver) -> Layout:
    """The submissions in a folder or a JSON Lines file. `UsageError` where there is neither."""
    if path.is_dir():
        return Folder(path, exercises, passed_over)
    if path.is_file() and path.suffix in LINES_SUFFIXES:
        return Lines(path, exercises, passed_over)
    if path.exists():
        raise UsageError(f"{path} is neither a folder nor a .jsonl file; hand over {LAYOUTS}")
    raise UsageError(f"there is no {path}; hand over {LAYOUTS}")
