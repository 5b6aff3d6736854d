"""Read a `.py` or `.ipynb` file into a `Submission`; accept only regular files, and never block on one."""

import errno
import os
import re
import stat
import time
from pathlib import Path

from grader.spec.files import READ
from grader.spec.paths import USUAL_MODULE
from grader.submission.submission import (
    MAX_FILE_BYTES,
    Submission,
    Unreadable,
    from_module,
    from_notebook,
    submission_from_text,
    unix_lines,
)

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def read_submission(path: Path, name: str, *, inside: Path | None = None) -> Submission | Unreadable:
    """Return the submission in a file, or the reason why there is none.

    `name` stands for the file in messages. If the file belongs to somebody else, `inside` names a folder around it:
    then no part of the path below that folder may be a link.
    """
    name = name.encode("utf-8", "backslashreplace").decode()  # a file name is bytes and may not be text
    content = _read_source_file(path, name, inside)
    if isinstance(content, Unreadable):
        return content
    submission = from_notebook(content, name) if path.suffix.lower() == ".ipynb" else from_module(content, name)
    if isinstance(submission, Unreadable):
        return submission
    return _why_not_python(submission) or submission


def read_text(text: str, name: str = USUAL_MODULE) -> Submission | Unreadable:
    """Return the submission that arrived as text; treat byte order mark and line ends as in a file."""
    if not text.strip():
        return Unreadable(reason="the source is empty; send the whole file's text")
    submission = submission_from_text(unix_lines(text), name)
    return _why_not_python(submission) or submission


def _why_not_python(submission: Submission) -> Unreadable | None:
    """Return the reason if the text has characters that Python source cannot have."""
    for chunk in submission.chunks:
        place = chunk.label if chunk.label == submission.name else f"{submission.name}, {chunk.label}"
        if "\0" in chunk.text:
            return Unreadable(
                reason=f"{place} contains a NUL byte, so it is not Python source; save it again as UTF-8 text"
            )
        if LONE_SURROGATE.search(chunk.text):
            return Unreadable(reason=f"{place} contains half a character (a lone surrogate); delete it and save again")
    return None


NO_LINK = getattr(os, "O_NOFOLLOW", 0)
FOLDER = getattr(os, "O_DIRECTORY", 0)

ATTEMPTS = 3
"""How often a file is read if it changes during each reading."""

PAUSE = 0.02
"""Seconds between two attempts, in which an editor finishes saving."""

TIMESTAMP_RESOLUTION = 0.01
"""Seconds. Some file systems cannot distinguish two changes within a shorter time."""


class _LinkError(Exception):
    """A part of the path is a link, and links are not allowed there."""


def _read_source_file(path: Path, name: str, inside: Path | None = None) -> bytes | Unreadable:
    """Return the file's content, or the reason why there is none."""
    if inside is None and os.path.isdir(path):  # noqa: PTH112 - raises for no name, unlike Path.is_dir
        return _is_directory(name)
    if path.suffix.lower() not in (".py", ".ipynb"):
        return Unreadable(reason=f"{name} is neither a .py nor a .ipynb file; hand in one of these")
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE if attempt else 0)
        content = _read(path, name, inside)
        if content is not None:
            return content
    return Unreadable(reason=f"{name} changes while it is being read; wait until it is saved and grade it again")


def _read(path: Path, name: str, inside: Path | None) -> bytes | Unreadable | None:
    """Return the content, the reason why there is none, or None if the file changed meanwhile."""
    try:
        descriptor = _open(path) if inside is None else _open_inside(path, inside)
        try:
            return _content(descriptor, name)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return Unreadable(reason=f"there is no file {name}; check the path", is_missing_or_empty=True)
    except _LinkError:
        return Unreadable(reason=f"{name} is a link, or in a linked folder; hand in the file itself")
    except (OSError, ValueError) as error:  # ValueError: the path contains a NUL
        reason = getattr(error, "strerror", None) or str(error)
        return Unreadable(reason=f"{name} cannot be opened: {reason}; check its permissions")


def _content(descriptor: int, name: str) -> bytes | Unreadable | None:
    before = os.fstat(descriptor)
    if stat.S_ISDIR(before.st_mode):
        return _is_directory(name)
    if not stat.S_ISREG(before.st_mode):
        return Unreadable(reason=f"{name} is not a regular file; hand in a .py or .ipynb file")
    content = _read_up_to(descriptor, MAX_FILE_BYTES + 1) if before.st_size <= MAX_FILE_BYTES else b""
    if max(before.st_size, len(content)) > MAX_FILE_BYTES:
        too_large = f"{name} is larger than {MAX_FILE_BYTES:,} bytes"
        return Unreadable(reason=f"{too_large}; clear its outputs, or hand in the source alone")
    if _has_changed(before, os.fstat(descriptor), len(content)):
        return None
    if not content.strip(b" \t\r\n\f\xef\xbb\xbf"):
        return Unreadable(reason=f"{name} is empty; save it again", is_missing_or_empty=True)
    return content


def _has_changed(before: os.stat_result, after: os.stat_result, size: int) -> bool:
    """Return whether somebody may have written to the file while `size` bytes of it were read.

    A very recent change counts too, because a second change within the resolution of time stamps leaves no trace.
    """
    is_different = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
    return is_different or size != after.st_size or 0 <= time.time() - after.st_mtime < TIMESTAMP_RESOLUTION


def _read_up_to(descriptor: int, most: int) -> bytes:
    content = bytearray()
    while len(content) < most and (part := os.read(descriptor, most - len(content))):
        content += part
    return bytes(content)


def _open(path: Path) -> int:
    return os.open(path, READ)


def _open_inside(path: Path, inside: Path) -> int:
    """Open a file below a folder, one part of the path at a time.

    A part that somebody replaces by a link meanwhile is not followed. Raise `_LinkError` for a link.
    """
    parts = path.relative_to(inside).parts
    if ".." in parts:
        raise _LinkError
    if os.open not in os.supports_dir_fd:  # Windows, where only administrators can make links
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


def _is_directory(name: str) -> Unreadable:
    return Unreadable(reason=f"{name} is a directory; name the file in it")
