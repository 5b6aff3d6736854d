"""Zip archives of a class or of one student: unpacked so that no member writes elsewhere or stops the others."""

import contextlib
import os
import shutil
import stat
import tempfile
import time
import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Self

from msgspec import Struct

from grader.classroom.layouts.files import (
    CLOSED,
    LEFT_BEHIND,
    LINK,
    TOO_MUCH,
    TWICE,
    SkippedFiles,
    is_clutter,
    open_ordinary,
    storable,
)
from grader.submission import MAX_FILE_BYTES

MAX_MEMBERS, MAX_BYTES = 200_000, 4 << 30
"""Limits of the archive of a class, in files and in unpacked bytes."""

MAX_ARCHIVES_OF_STUDENT, MAX_PACKED_OF_STUDENT = 20, 64 << 20
MAX_MEMBERS_OF_STUDENT, MAX_BYTES_OF_STUDENT = 2_000, 64 << 20
"""Limits of all archives together that one student handed in: they take nothing from the other students."""

MAX_FOLDERS = 32
"""How deep a member may lie: the walk through a student's files goes less deep."""

PIECE_BYTES = 1 << 20
OUTSIDE = "a path that leads out of its archive"
CONTENT_SUFFIXES = {".py", ".ipynb", ".yml", ".txt", ".zip", ".jsonl"}
"""Suffixes of submissions and of files that describe them. Of any other member only the name is unpacked."""

EARLIEST_YEAR = 1980
"""A zip's year where the time is unknown."""


class Budget(Struct, kw_only=True):
    """What archives may still take: how many, their bytes, the files in them, and the bytes that these unpack to."""

    archives: int
    packed: int
    members: int
    unpacked: int

    @classmethod
    def of_class(cls, size: int) -> Self:
        """Return the budget of the one archive, of any size, in which a class is handed over."""
        return cls(archives=1, packed=size, members=MAX_MEMBERS, unpacked=MAX_BYTES)

    @classmethod
    def of_student(cls) -> Self:
        """Return the budget of everything that one student handed in."""
        return cls(
            archives=MAX_ARCHIVES_OF_STUDENT,
            packed=MAX_PACKED_OF_STUDENT,
            members=MAX_MEMBERS_OF_STUDENT,
            unpacked=MAX_BYTES_OF_STUDENT,
        )


class Unpacker:
    """Unpacks archives into a temporary folder, which is removed at the end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="submissions-")
        self._unpacked: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def unpack(self, path: Path, name: str, skipped: SkippedFiles, budget: Budget | None = None) -> Path | None:
        """Return the folder with an archive's files, or None if it cannot be opened. Record what is left out.

        What it takes is taken from the budget of a student, or from that of a class if there is none.
        """
        target = Path(tempfile.mkdtemp(dir=self._folder.name))
        self._unpacked.append(target)
        try:
            with open_ordinary(path) as file:
                size = os.fstat(file.fileno()).st_size
                budget = budget or Budget.of_class(size)
                if not budget.archives or size > budget.packed:
                    skipped.add(TOO_MUCH, f"{name}: more archives, or larger ones, than a student may hand in")
                    return None
                budget.archives -= 1
                budget.packed -= size
                with zipfile.ZipFile(file) as archive:
                    _unpack_members(archive, target, name, skipped, budget)
        except Exception as error:  # noqa: BLE001 - zipfile raises many errors on bytes that a student made
            skipped.add(CLOSED, name, _reason(error))
            return None
        return target

    def count(self) -> int:
        """Return how many archives are unpacked."""
        return len(self._unpacked)

    def free(self, kept: int) -> None:
        """Remove what was unpacked, except for the first `kept` archives."""
        for folder in self._unpacked[kept:]:
            shutil.rmtree(folder, ignore_errors=True)
        del self._unpacked[kept:]


def _unpack_members(archive: zipfile.ZipFile, target: Path, name: str, skipped: SkippedFiles, budget: Budget) -> None:
    members = archive.infolist()
    if len(members) > budget.members:
        skipped.add(TOO_MUCH, f"{name}: {len(members):,} files; only the first {budget.members:,} are read")
        del members[budget.members :]
    budget.members -= len(members)
    for member in members:
        place = f"{name}/{storable(member.filename)}"
        try:
            budget.unpacked -= _unpack_member(archive, member, target, place, budget.unpacked, skipped)
        except Exception as error:  # noqa: BLE001 - one bad member must not cost the others
            skipped.add(CLOSED, place, _reason(error))


def _unpack_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, place: str, remaining: int, skipped: SkippedFiles
) -> int:
    """Unpack one member, or record why not. Return how many bytes it took."""
    parts = _parts(member.filename)
    if member.is_dir() or any(map(is_clutter, parts)):
        skipped.add(LEFT_BEHIND, place)
    elif not parts:
        skipped.add(OUTSIDE, place)
    elif stat.S_ISLNK(member.external_attr >> 16):
        skipped.add(LINK, place)
    elif len(parts) > MAX_FOLDERS:
        skipped.add(CLOSED, place, f"it is more than {MAX_FOLDERS} folders deep")
    else:
        path = target.joinpath(*parts)
        blocking = next((each for each in path.parents if each != target and each.is_file()), None)
        if blocking is not None:
            skipped.add(CLOSED, place, f"{storable(blocking.name)} is a file, not a folder")
            return 0
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() in CONTENT_SUFFIXES:
            return _write(archive, member, path, place, min(remaining, MAX_FILE_BYTES), skipped)
        path.touch()  # its name shows that somebody handed in something
    return 0


def _parts(filename: str) -> tuple[str, ...]:
    """Return the path inside the archive, or nothing if it is absolute, climbs, or is written for Windows."""
    if "\\" in filename or "\0" in filename or PureWindowsPath(filename).drive or filename.startswith("/"):
        return ()
    parts = PurePosixPath(filename).parts
    return () if ".." in parts else parts


def _write(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, place: str, max_bytes: int, skipped: SkippedFiles
) -> int:
    """Write one file, whatever size the archive claims. Return how many bytes it took."""
    if member.flag_bits & 1:
        skipped.add(CLOSED, place, "it is encrypted")
        return 0
    try:
        file = path.open("xb")
    except FileExistsError:
        skipped.add(TWICE, place)
        return 0
    try:
        with file, archive.open(member) as source:
            size = _copy(source, file, max_bytes)
        if size > max_bytes:
            path.unlink()
            skipped.add(TOO_MUCH, f"{place}: over {max_bytes:,} bytes")
            return max_bytes
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    _set_time(path, member)
    return size


def _copy(source: IO[bytes], file: IO[bytes], max_bytes: int) -> int:
    size = 0
    while size <= max_bytes and (piece := source.read(PIECE_BYTES)):
        size += len(piece)
        file.write(piece)
    return size


def _set_time(path: Path, member: zipfile.ZipInfo) -> None:
    """Give the file the time that the archive names; a date that does not exist is ignored."""
    if member.date_time[0] > EARLIEST_YEAR:
        with contextlib.suppress(OSError, OverflowError, ValueError):
            written = time.mktime((*member.date_time, 0, 0, -1))
            os.utime(path, (written, written))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
