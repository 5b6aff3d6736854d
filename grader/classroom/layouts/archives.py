"""Unpack zip archives of a class or of one student. No member can write elsewhere or stop the other members."""

import contextlib
import os
import shutil
import stat
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Self

from msgspec import Struct

from grader.classroom.layouts.files import (
    WORDS,
    SkippedFiles,
    SkippedKind,
    is_clutter,
    open_ordinary,
    storable,
)
from grader.errors import UsageError
from grader.report.printable import printable
from grader.submission import MAX_FILE_BYTES

MAX_MEMBERS_OF_CLASS, MAX_BYTES_OF_CLASS = 200_000, 4 << 30
"""Limits of the archive of a class, in files and in unpacked bytes."""

MAX_MEMBERS_OF_SHARE, MAX_BYTES_OF_SHARE = 20_000, 1 << 30
"""Limits of one student's files in the archive of a class."""

MAX_ARCHIVES_OF_STUDENT, MAX_PACKED_OF_STUDENT = 20, 64 << 20
MAX_MEMBERS_OF_STUDENT, MAX_BYTES_OF_STUDENT = 2_000, 64 << 20
"""Limits for all archives of one student together, so that they use up nothing of the other students' share."""

MAX_FOLDERS = 32
"""The most folders in a member's path. The search through a student's files stops earlier."""

PIECE_BYTES = 1 << 20
CONTENT_SUFFIXES = {".py", ".ipynb", ".yml", ".txt", ".zip", ".jsonl"}
"""Suffixes of submissions and of files that describe them. Other members are unpacked as empty files."""

BOUNDED_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compression methods that Python unpacks piece by piece. It unpacks all others into memory at once."""

MEMBER_COST = 4_096
"""Bytes that a file takes on disk beside its content."""

EARLIEST_YEAR = 1980
"""The year in a zip if the time is unknown."""


class UnpackingBudget(Struct, kw_only=True):
    """The remaining limits for archives: their number, their bytes, the files in them, and the unpacked bytes."""

    archives: int
    packed: int
    members: int
    unpacked: int

    @classmethod
    def of_class(cls) -> Self:
        """Return the budget of a class's only archive, whose size is not limited."""
        return cls(archives=1, packed=1 << 63, members=MAX_MEMBERS_OF_CLASS, unpacked=MAX_BYTES_OF_CLASS)

    @classmethod
    def of_share(cls) -> Self:
        """Return the budget of one student's files in the archive of a class."""
        return cls(archives=0, packed=0, members=MAX_MEMBERS_OF_SHARE, unpacked=MAX_BYTES_OF_SHARE)

    @classmethod
    def of_student(cls) -> Self:
        """Return the budget of everything that one student handed in."""
        return cls(
            archives=MAX_ARCHIVES_OF_STUDENT,
            packed=MAX_PACKED_OF_STUDENT,
            members=MAX_MEMBERS_OF_STUDENT,
            unpacked=MAX_BYTES_OF_STUDENT,
        )


class _OverBudgetError(Exception):
    """An archive is larger than the student's remaining limits."""


class Unpacker:
    """Unpacks archives into a temporary folder, which is removed at the end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="submissions-")
        self._unpacked: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def unpack_class(self, path: Path, skipped: SkippedFiles, find_students: "FindStudents") -> Path:
        """Return the folder with a class's files. Record what is left out.

        No student's files take the place of another's: each has a budget, and the smallest shares are unpacked first.
        Raise `UsageError` if the archive cannot be opened.
        """

        def unpack_members(archive: zipfile.ZipFile, target: Path) -> None:
            _unpack_shares(archive, target, path.name, skipped, find_students)

        try:
            return self._unpack(path, UnpackingBudget.of_class(), unpack_members)
        except Exception as error:
            problem = f"{WORDS[SkippedKind.CLOSED]}: {printable(path.name)} ({printable(_reason(error))})"
            raise UsageError(f"{problem}; give a zip that opens, or a folder with its files") from error

    def unpack(self, path: Path, name: str, skipped: SkippedFiles, budget: UnpackingBudget) -> Path | None:
        """Return the folder with an archive's files, or None if it cannot be opened. Record what is left out.

        Its size is subtracted from the student's budget.
        """

        def unpack_members(archive: zipfile.ZipFile, target: Path) -> None:
            members = archive.infolist()
            if len(members) > budget.members:
                read = f"only the first {budget.members:,} are read"
                skipped.add(SkippedKind.TOO_MUCH, f"{name}: {len(members):,} files; {read}")
            for member in members[: budget.members]:
                budget.members -= 1
                if member.compress_type not in BOUNDED_METHODS:
                    place = f"{name}/{storable(member.filename)}"
                    skipped.add(SkippedKind.CLOSED, place, "its compression is unusual; make a zip of the usual kind")
                    continue
                budget.unpacked -= _unpack_if_possible(archive, member, target, name, budget.unpacked, skipped)

        try:
            return self._unpack(path, budget, unpack_members)
        except _OverBudgetError as error:
            skipped.add(SkippedKind.TOO_MUCH, f"{name}: {error}")
        except Exception as error:  # noqa: BLE001 - zipfile raises many kinds of errors for damaged or hostile archives
            skipped.add(SkippedKind.CLOSED, name, _reason(error))
        return None

    def _unpack(
        self, path: Path, budget: UnpackingBudget, unpack_members: Callable[[zipfile.ZipFile, Path], None]
    ) -> Path:
        """Return the folder with an archive's files. Raise many kinds of errors if it cannot be opened."""
        target = Path(tempfile.mkdtemp(dir=self._folder.name))
        self._unpacked.append(target)
        with open_ordinary(path) as file:
            size = os.fstat(file.fileno()).st_size
            if not budget.archives or size > budget.packed:
                raise _OverBudgetError("more archives, or larger ones, than a student may hand in")
            budget.archives -= 1
            budget.packed -= size
            with zipfile.ZipFile(file) as archive:
                unpack_members(archive, target)
        return target

    def count(self) -> int:
        """Return the number of unpacked archives."""
        return len(self._unpacked)

    def free(self, kept: int) -> None:
        """Remove the unpacked files of all archives except the first `kept` ones."""
        for folder in self._unpacked[kept:]:
            shutil.rmtree(folder, ignore_errors=True)
        del self._unpacked[kept:]


FindStudents = Callable[[list[str]], str]
"""Given the names at the top of a class's archive, return the folder of all students' folders, or nothing."""


def _unpack_shares(
    archive: zipfile.ZipFile, target: Path, name: str, skipped: SkippedFiles, find_students: FindStudents
) -> None:
    """Unpack the archive of a class, and record each share from which nothing can be unpacked."""
    budget = UnpackingBudget.of_class()
    budgets: dict[str, UnpackingBudget] = {}
    named: set[str] = set()
    for share, member in _in_fair_order(archive.infolist(), find_students):
        own = budgets.setdefault(share, UnpackingBudget.of_share())
        own.members -= 1
        budget.members -= 1
        if min(own.members, budget.members) < 0:
            if share not in named:
                skipped.add(SkippedKind.TOO_MUCH, f"{name}/{share}: too many files; the last ones are not read")
                named.add(share)
            continue
        skipped.student = share
        counted = skipped.count_named()
        size = _unpack_if_possible(archive, member, target, name, min(own.unpacked, budget.unpacked), skipped)
        own.unpacked -= size
        budget.unpacked -= size
        if skipped.count_named() > counted:
            named.add(share)
        skipped.student = ""
    for share in sorted(budgets.keys() - named):
        if not is_clutter(PurePosixPath(share).name) and not os.path.lexists(target / share):
            skipped.add(SkippedKind.NOTHING, f"{name}/{share}")


def _in_fair_order(
    members: list[zipfile.ZipInfo], find_students: FindStudents
) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """Yield `(share, member)` pairs, sorted by the share's size up to and including the member."""
    paths = [PurePosixPath(storable(member.filename)).parts for member in members]
    common = _count_common(paths, members)
    folder = find_students(sorted({parts[common] for parts in paths if len(parts) > common}))
    taken: dict[str, int] = {}
    order: list[tuple[int, str, zipfile.ZipInfo]] = []
    for parts, member in zip(paths, members, strict=True):
        depth = common + 1 + (parts[common : common + 1] == (folder,))
        share = "/".join(parts[:depth])
        taken[share] = taken.get(share, 0) + member.file_size + MEMBER_COST
        order.append((taken[share], share, member))
    order.sort(key=lambda each: each[0])
    yield from ((share, member) for _, share, member in order)


def _count_common(paths: list[tuple[str, ...]], members: list[zipfile.ZipInfo]) -> int:
    """Return how many folders all members have in common; ignore files that operating systems add."""
    common = 0
    while True:
        inside = [(parts, member) for parts, member in zip(paths, members, strict=True) if len(parts) > common]
        inside = [(parts, member) for parts, member in inside if not is_clutter(parts[common])]
        is_file_alone = any(len(parts) == common + 1 and not member.is_dir() for parts, member in inside)
        if is_file_alone or len({parts[common] for parts, _ in inside}) != 1:
            return common
        common += 1


def _unpack_if_possible(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, name: str, remaining: int, skipped: SkippedFiles
) -> int:
    """Unpack one member and return the number of bytes written. If it cannot be unpacked, record why and return 0."""
    place = f"{name}/{storable(member.filename)}"
    try:
        return _unpack_member(archive, member, target, place, remaining, skipped)
    except Exception as error:  # noqa: BLE001 - zipfile and the file system raise many errors
        skipped.add(SkippedKind.CLOSED, place, _reason(error))
        return 0


def _unpack_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, place: str, remaining: int, skipped: SkippedFiles
) -> int:
    """Unpack one member, or record why it is skipped. Return the number of bytes written."""
    parts = _parts(member.filename)
    if member.is_dir() or any(map(is_clutter, parts)):
        skipped.add(SkippedKind.LEFT_BEHIND, place)
    elif not parts:
        skipped.add(SkippedKind.OUTSIDE, place)
    elif stat.S_ISLNK(member.external_attr >> 16):
        skipped.add(SkippedKind.LINK, place)
    elif member.compress_type not in BOUNDED_METHODS and member.file_size > MAX_FILE_BYTES:
        # a class's archive has the true sizes
        skipped.add(SkippedKind.TOO_MUCH, f"{place}: over {MAX_FILE_BYTES:,} bytes")
    elif len(parts) > MAX_FOLDERS:
        skipped.add(SkippedKind.CLOSED, place, f"it is more than {MAX_FOLDERS} folders deep")
    else:
        path = target.joinpath(*parts)
        blocking = next((each for each in path.parents if each != target and each.is_file()), None)
        if blocking is not None:
            skipped.add(SkippedKind.CLOSED, place, f"{storable(blocking.name)} is a file, not a folder")
            return 0
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() in CONTENT_SUFFIXES:
            return _write(archive, member, path, place, min(remaining, MAX_FILE_BYTES), skipped)
        path.touch()  # its name shows that somebody handed in something
    return 0


def _parts(filename: str) -> tuple[str, ...]:
    """Return the parts of a member's path; none if it is absolute, contains `..` or is a Windows path."""
    if "\\" in filename or "\0" in filename or PureWindowsPath(filename).drive or filename.startswith("/"):
        return ()
    parts = PurePosixPath(filename).parts
    return () if ".." in parts else parts


def _write(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, place: str, max_bytes: int, skipped: SkippedFiles
) -> int:
    """Write one file, and stop at the limit whatever size the archive claims. Return the number of bytes written."""
    if member.flag_bits & 1:
        skipped.add(SkippedKind.CLOSED, place, "it is encrypted")
        return 0
    try:
        file = path.open("xb")
    except FileExistsError:
        skipped.add(SkippedKind.TWICE, place)
        return 0
    try:
        with file, archive.open(member) as source:
            size = _copy(source, file, max_bytes)
        if size > max_bytes:
            path.unlink()
            skipped.add(SkippedKind.TOO_MUCH, f"{place}: over {max_bytes:,} bytes")
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
    """Set the file's time to that in the archive. An invalid date is ignored."""
    if member.date_time[0] > EARLIEST_YEAR:
        with contextlib.suppress(OSError, OverflowError, ValueError):
            written = time.mktime((*member.date_time, 0, 0, -1))
            os.utime(path, (written, written))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
