"""Write the files that a user asked for, and read and write the kit's own caches."""

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from grader.errors import UsageError

REMEDIES = {
    errno.ENOSPC: "free some space on the disk",
    errno.EDQUOT: "free some space on the disk",
    errno.EACCES: "change the permissions",
    errno.EPERM: "change the permissions",
    errno.EROFS: "change the permissions",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def write_product(path: Path, content: bytes) -> None:
    """Write an output file that the user asked for. If that fails, leave no part of it and raise `UsageError`."""
    with product_draft(path) as draft:
        draft.write_bytes(content)


@contextlib.contextmanager
def product_draft(path: Path) -> Iterator[Path]:
    """Yield the path of a draft that takes the place of the output file at the end.

    Links are followed. If the path is a pipe, a socket or a device, the draft's content is written into it. If the
    draft cannot be made or moved, leave no part of it and raise `UsageError`.
    """
    try:
        if is_special_file(path):
            with tempfile.TemporaryDirectory() as folder:
                draft = Path(folder) / "draft"
                yield draft
                with draft.open("rb") as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target)
        else:
            with _draft(Path(os.path.realpath(path))) as draft:
                yield draft
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, "name another file")
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}; {remedy}") from None


def is_special_file(path: Path) -> bool:
    """Return whether the path leads to a pipe, a socket or a device."""
    try:
        mode = path.stat().st_mode
    except OSError:  # missing, or an invalid name: writing to it raises a clear error
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


MAX_CACHE_BYTES = 100_000_000

READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
"""Flags to open a file that may be a pipe, without waiting for its other end."""


def read_cache(path: Path) -> bytes:
    """Return the content of a file that the kit wrote itself.

    Raise `OSError` if it is missing, too large, or no regular file: a pipe would never end.
    """
    descriptor = os.open(path, READ)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_CACHE_BYTES:
            raise OSError(errno.EINVAL, "it is not a regular file, or too large", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_CACHE_BYTES)
    finally:
        os.close(descriptor)


def write_cache(path: Path, content: bytes) -> None:
    """Write a file that the kit can do without, atomically. Do nothing if the disk is full or read-only."""
    with contextlib.suppress(OSError), _draft(path) as draft:
        draft.write_bytes(content)


def write_versioned_cache(path: Path, content: bytes) -> None:
    """Write a cache file `<name>-<digest><suffix>`, and delete the files with other digests of the same name."""
    write_cache(path, content)
    name = path.stem.rpartition("-")[0]
    with contextlib.suppress(OSError):
        for other in path.parent.glob(f"{name}-*{path.suffix}"):
            if other != path:
                other.unlink(missing_ok=True)


@contextlib.contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """Yield the path of a draft that replaces the file at the end, so that readers never see half of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{os.urandom(8).hex()}.draft")  # short, because file systems limit the length of names
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)  # a draft that replaced the file is gone already
