"""What a layout finds: submissions as files or text, what is none, and zip archives, opened safely."""

import contextlib
import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Protocol, Self

from msgspec import Struct, field

from grader.report.console import printable
from grader.spec.paths import USUAL_MODULE
from grader.submission import MAX_FILE_BYTES

SUFFIXES = (".py", ".ipynb")
"""Those of submissions, the module's first."""

ModuleNames = Mapping[str, str]
"""What the module of each exercise is called, by its id."""

SHOWN = 10
"""How many things of one kind are named; the others are counted."""

LEFT_BEHIND = "left by systems, or handed out beside an exercise"
"""The kind of things that are only counted."""

UNKNOWN, STRAY, LINK = "no such exercise", "no submission", "a link, not followed"
TWICE, CLOSED = "handed in twice", "cannot be opened"
UNTOLD = "file name does not tell the exercise; name it with --exercise"
RENAMED = "unusual file name, graded all the same"
NOTHING = "nothing to judge in it"
BROKEN, TOO_LONG = "a broken line", "a line too long"

TOO_MUCH = "an archive that holds too much"

UNREAD_KINDS = (BROKEN, TOO_LONG, CLOSED, TOO_MUCH)
"""What may have held submissions and could not be read."""

CLUTTER = {"README.md", "__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
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


def stems(exercises: ModuleNames) -> set[str]:
    """What files may be called that are handed in; whatever an exercise's own is called, the usual name will do."""
    return {Path(name).stem for name in (USUAL_MODULE, *exercises.values())}


def is_clutter(name: str) -> bool:
    """Whether a file is no part of what was handed in: the course's own, or the system's."""
    return name in CLUTTER or name.startswith(".")


def handed_in(folder: Path) -> list[str]:
    """What lies in a folder, in order, without clutter; `OSError` where it cannot be opened."""
    return sorted(name for name in os.listdir(folder) if not is_clutter(name))


def handed_in_or_none(folder: Path, skipped: SkippedFiles | None = None) -> list[str]:
    """`handed_in`; nothing where the folder cannot be opened, or has gone meanwhile, which is counted."""
    try:
        return handed_in(folder)
    except OSError as error:
        if skipped is not None:
            skipped.add(CLOSED, f"{storable(folder.name)} ({error.strerror})")
        return []


def storable(name: str) -> str:
    """A file's name as text: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


MOST_MEMBERS = 200_000
MOST_BYTES = 4 << 30
"""Of the archive of a class, unpacked."""

MOST_MEMBERS_OF_ONE = 2_000
MOST_BYTES_OF_ONE = 64 << 20
"""Of an archive that one student handed in: what it takes is no other student's loss."""

PIECE_BYTES = 1 << 20
CLIMBS = "a path that leads out of its archive"
WANTED = {".py", ".ipynb", ".yml", ".txt", ".zip", ".jsonl"}
"""What a submission, or what tells of it, may end in; of anything else the name alone is unpacked."""

EARLIEST_YEAR = 1980


class Unpacker:
    """Unpacks archives into a folder that goes with it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="submissions-")
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def unpack(self, path: Path, name: str, skipped: SkippedFiles, *, is_of_one: bool = False) -> Path | None:
        """The folder with the files of a class, or of one student; None, and counted, where it does not open."""
        self._count += 1
        target = Path(self._folder.name) / str(self._count)
        target.mkdir()
        try:
            with path.open("rb") as file, zipfile.ZipFile(file) as archive:
                most = (MOST_MEMBERS_OF_ONE, MOST_BYTES_OF_ONE) if is_of_one else (MOST_MEMBERS, MOST_BYTES)
                self._extract(archive, target, name, skipped, *most)
        except Exception as error:  # noqa: BLE001 - as below
            skipped.add(CLOSED, f"{name} ({getattr(error, 'strerror', None) or error})")
            return None
        return target

    def _extract(
        self, archive: zipfile.ZipFile, target: Path, name: str, skipped: SkippedFiles, most_members: int, left: int
    ) -> None:
        members = archive.infolist()
        if len(members) > most_members:
            skipped.add(TOO_MUCH, f"{name}: {len(members):,} files; {most_members:,} are looked at")
        for member in members[:most_members]:
            parts = _parts(member.filename)
            place = f"{name}/{storable(member.filename)}"
            if member.is_dir() or any(map(is_clutter, parts)):
                skipped.add(LEFT_BEHIND, place)
            elif not parts:
                skipped.add(CLIMBS, place)
            elif stat.S_ISLNK(member.external_attr >> 16):
                skipped.add(LINK, place)
            elif Path(parts[-1]).suffix.lower() not in WANTED:
                _touch(target.joinpath(*parts))
            else:
                left -= _write(archive, member, target.joinpath(*parts), place, min(left, MAX_FILE_BYTES), skipped)


def _touch(path: Path) -> None:
    """Have the name of a file there and nothing that was in it: it tells that somebody handed in something."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def _parts(filename: str) -> tuple[str, ...]:
    """The path inside the archive; nothing for one that is absolute, climbs, or is another system's."""
    if "\\" in filename or "\0" in filename or PureWindowsPath(filename).drive or filename.startswith("/"):
        return ()
    parts = PurePosixPath(filename).parts
    return () if ".." in parts else parts


def _write(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, place: str, most: int, skipped: SkippedFiles
) -> int:
    """Write one file, believing nothing that the archive says of its size; how many bytes it took."""
    if member.flag_bits & 1:
        skipped.add(CLOSED, f"{place} (it is encrypted)")
        return 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, path.open("xb") as file:
            size = _copy(source, file, most)
    except FileExistsError:
        skipped.add(TWICE, place)
        return 0
    except Exception as error:  # noqa: BLE001 - each way of compressing has errors of its own, and the bytes are a student's
        path.unlink(missing_ok=True)
        skipped.add(CLOSED, f"{place} ({getattr(error, 'strerror', None) or error})")
        return 0
    if size > most:
        path.unlink()
        skipped.add(TOO_MUCH, f"{place}: over {most:,} bytes")
        return most
    if member.date_time[0] > EARLIEST_YEAR:
        written = time.mktime((*member.date_time, 0, 0, -1))
        os.utime(path, (written, written))
    return size


def _copy(source: IO[bytes], file: IO[bytes], most: int) -> int:
    size = 0
    while size <= most and (piece := source.read(PIECE_BYTES)):
        size += len(piece)
        file.write(piece)
    return size
