"""A path -> Submission: an ordinary file's bytes, opened without blocking and read once, decoded as its name says."""

import errno
import os
import re
import stat
import time
from pathlib import Path

from grader.spec.paths import USUAL_MODULE
from grader.submission.submission import (
    Submission,
    Unreadable,
    from_module,
    from_notebook,
    submission_from_text,
    unix_lines,
)

HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")


def read_submission(path: Path, name: str, *, inside: Path | None = None) -> Submission | Unreadable:
    """The submission in a `.py` or `.ipynb` file, or why there is none.

    The path may hold links; where `inside` is given, the folder that holds what others handed in, no part below it may.
    """
    name = name.encode("utf-8", "backslashreplace").decode()  # file names are bytes, and need not be text
    content = _read_source_file(path, name, inside)
    if isinstance(content, Unreadable):
        return content
    submission = from_notebook(content, name) if path.suffix.lower() == ".ipynb" else from_module(content, name)
    if isinstance(submission, Submission):
        return _why_no_source(submission) or submission
    return submission


def read_text(text: str, name: str = USUAL_MODULE) -> Submission | Unreadable:
    """The submission that came as text: a byte order mark and line ends are what they are in a file."""
    if not text.strip():
        return Unreadable("the source is empty; send the whole file's text")
    submission = submission_from_text(unix_lines(text), name)
    return _why_no_source(submission) or submission


def _why_no_source(submission: Submission) -> Unreadable | None:
    """Why the text cannot be Python source, whatever it says."""
    for chunk in submission.chunks:
        place = chunk.label if chunk.label == submission.name else f"{submission.name}, {chunk.label}"
        if "\0" in chunk.text:
            return Unreadable(f"{place} holds a NUL byte, so it is not Python source; save it again as UTF-8 text")
        if HALF_A_CHARACTER.search(chunk.text):
            return Unreadable(f"{place} holds half a character (a lone surrogate); delete it and save again")
    return None


MAX_FILE_BYTES = 16_000_000
"""A file larger than this, outputs of a notebook included, is not read."""

READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
"""Opens a pipe or a device without waiting for it."""

NO_LINK = getattr(os, "O_NOFOLLOW", 0)
FOLDER = getattr(os, "O_DIRECTORY", 0)

READINGS = 3
"""How often a file is read that changes while it is being read."""

PAUSE = 0.02
"""Seconds between two readings: an editor that saves is done by then."""

TICK = 0.01
"""Seconds by which file systems tell the times of two changes apart, at the coarsest."""


class _LinkError(Exception):
    """A part of the path is a link, where none may be."""


def _read_source_file(path: Path, name: str, inside: Path | None = None) -> bytes | Unreadable:
    """The file's content, or why there is none; below `inside`, where that is given, no part of the path is a link."""
    if inside is None and os.path.isdir(path):  # noqa: PTH112 - which names too long or not allowed do not make raise
        return _folder(name)
    if path.suffix.lower() not in (".py", ".ipynb"):
        return Unreadable(f"{name} is neither a .py nor a .ipynb file; hand in one of these")
    for reading in range(READINGS):
        time.sleep(PAUSE if reading else 0)
        content = _read(path, name, inside)
        if content is not None:
            return content
    return Unreadable(f"{name} changes while it is being read; wait until it is saved, and grade it again")


def _read(path: Path, name: str, inside: Path | None) -> bytes | Unreadable | None:
    """The content, why there is none, or None where the file changed meanwhile."""
    try:
        descriptor = _open(path) if inside is None else _open_inside(path, inside)
        try:
            return _content(descriptor, name)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return Unreadable(f"there is no file {name}; check the path", is_nothing=True)
    except _LinkError:
        return Unreadable(f"{name} is a link, or lies behind one; hand in the file itself")
    except (OSError, ValueError) as error:  # a path with a NUL in it is a ValueError
        why = getattr(error, "strerror", None) or str(error)
        return Unreadable(f"{name} cannot be opened: {why}; check its permissions")


def _content(descriptor: int, name: str) -> bytes | Unreadable | None:
    before = os.fstat(descriptor)
    if stat.S_ISDIR(before.st_mode):
        return _folder(name)
    if not stat.S_ISREG(before.st_mode):
        return Unreadable(f"{name} is not an ordinary file; hand in a .py or .ipynb file")
    content = _read_up_to(descriptor, MAX_FILE_BYTES + 1) if before.st_size <= MAX_FILE_BYTES else b""
    if max(before.st_size, len(content)) > MAX_FILE_BYTES:
        limit = f"{MAX_FILE_BYTES:,}"
        return Unreadable(f"{name} is larger than {limit} bytes; clear its outputs, or hand in the source alone")
    if _has_changed(before, os.fstat(descriptor), len(content)):
        return None
    if not content.strip(b" \t\r\n\f\xef\xbb\xbf"):
        return Unreadable(f"{name} is empty; save it again", is_nothing=True)
    return content


def _has_changed(before: os.stat_result, after: os.stat_result, size: int) -> bool:
    """Whether somebody may have written while `size` bytes were read; of two changes in one tick only one shows."""
    is_other = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
    return is_other or size != after.st_size or 0 <= time.time() - after.st_mtime < TICK


def _read_up_to(descriptor: int, most: int) -> bytes:
    content = bytearray()
    while len(content) < most and (part := os.read(descriptor, most - len(content))):
        content += part
    return bytes(content)


def _open(path: Path) -> int:
    return os.open(path, READ)


def _open_inside(path: Path, inside: Path) -> int:
    """Open a file below a folder, part by part, so that nothing that is exchanged meanwhile leads elsewhere."""
    parts = path.relative_to(inside).parts
    if ".." in parts:
        raise _LinkError
    if os.open not in os.supports_dir_fd:  # where links take an administrator's rights
        if any(inside.joinpath(*parts[: count + 1]).is_symlink() for count in range(len(parts))):
            raise _LinkError
        return _open(path)
    folder = os.open(inside, READ | FOLDER)
    try:
        for part in parts[:-1]:
            inner = _open_part(part, READ | FOLDER | NO_LINK, folder)
            os.close(folder)
            folder = inner
        return _open_part(parts[-1], READ | NO_LINK, folder)
    finally:
        os.close(folder)


def _open_part(part: str, flags: int, folder: int) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK) and _is_link(part, folder):
            raise _LinkError from error
        raise


def _is_link(part: str, folder: int) -> bool:
    return stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)


def _folder(name: str) -> Unreadable:
    return Unreadable(f"{name} is a directory; name the file in it")
