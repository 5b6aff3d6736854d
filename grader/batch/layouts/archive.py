"""Zip archives opened safely: nothing is written outside of a folder of our own, no link is made, sizes are bounded."""

import os
import stat
import tempfile
import time
import zipfile
import zlib
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Self

from grader.batch.layouts.records import CLOSED, LEFT_BEHIND, LINK, TWICE, SkippedFiles, is_by_the_way, storable
from grader.submission import MAX_FILE_BYTES

MOST_MEMBERS = 200_000
MOST_BYTES = 4 << 30
"""Of one archive, unpacked."""

PIECE_BYTES = 1 << 20
CLIMBS = "a path that leads out of its archive"
TOO_MUCH = "an archive that holds too much"
WANTED = {".py", ".ipynb", ".yml", ".txt", ".zip", ".jsonl"}
"""What a submission, or what tells of it, may end in; nothing else is unpacked."""

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

    def unpack(self, path: Path, name: str, skipped: SkippedFiles) -> Path | None:
        """The folder with the archive's files; None, and counted, where it cannot be opened."""
        self._count += 1
        target = Path(self._folder.name) / str(self._count)
        target.mkdir()
        try:
            with path.open("rb") as file, zipfile.ZipFile(file) as archive:
                self._extract(archive, target, name, skipped)
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            skipped.add(CLOSED, f"{name} ({getattr(error, 'strerror', None) or error})")
            return None
        return target

    def _extract(self, archive: zipfile.ZipFile, target: Path, name: str, skipped: SkippedFiles) -> None:
        left = MOST_BYTES
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            skipped.add(TOO_MUCH, f"{name}: {len(members):,} files; {MOST_MEMBERS:,} are looked at")
        for member in members[:MOST_MEMBERS]:
            parts = _parts(member.filename)
            place = f"{name}/{storable(member.filename)}"
            if member.is_dir() or (parts and not _is_wanted(parts)):
                skipped.add(LEFT_BEHIND, place)
            elif not parts:
                skipped.add(CLIMBS, place)
            elif stat.S_ISLNK(member.external_attr >> 16):
                skipped.add(LINK, place)
            else:
                left -= _write(archive, member, target.joinpath(*parts), place, min(left, MAX_FILE_BYTES), skipped)


def _is_wanted(parts: tuple[str, ...]) -> bool:
    return not any(map(is_by_the_way, parts)) and Path(parts[-1]).suffix.lower() in WANTED


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
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
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
