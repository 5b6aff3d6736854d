"""Cache of descriptions that were found sound: read once a run, and most runs need neither YAML nor its reader."""

import functools
import hashlib
from pathlib import Path

import msgspec

from grader.course.paths import write_whole
from grader.course.records import Exercise

_decode = msgspec.msgpack.Decoder(Exercise).decode

Stamp = tuple[int, int, int]
"""A file's number, size and time of its last change."""

_loaded: dict[Path, tuple[Stamp, Exercise]] = {}
"""What this process has loaded, for as long as the file stays as it was."""


def load_exercise(path: Path) -> Exercise:
    """The exercise described by the file.

    Raises `SpecError`, whose problems each say where, what was expected, what was found and what to write.
    """
    stamp = _stamp(path)
    known = _loaded.get(path.absolute())
    if known is not None and known[0] == stamp:
        return known[1]
    exercise = _read_or_remembered(path).with_placeholders()
    if stamp is not None:
        _loaded[path.absolute()] = stamp, exercise
    return exercise


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _read_or_remembered(path: Path) -> Exercise:
    memory = _memory(path)
    if memory is not None:
        try:
            return _decode(memory.read_bytes())
        except (OSError, msgspec.MsgspecError):
            pass  # never read, or by another version of the kit
    from grader.course.reading import read_exercise

    exercise = read_exercise(path)
    if memory is not None:
        write_whole(memory, msgspec.msgpack.encode(exercise))
    return exercise


def _memory(path: Path) -> Path | None:
    """Where this description, read by this version of the reader, is remembered."""
    try:
        digest = hashlib.sha256(path.read_bytes())
    except OSError:
        return None
    digest.update(_reader_stamp())
    course = path.absolute().parent.parent.parent
    return course / ".grader" / "exercises" / f"{path.parent.name}-{digest.hexdigest()[:16]}.msgpack"


@functools.cache
def _reader_stamp() -> bytes:
    """The version of the reader that this process runs."""
    here = Path(__file__).parent
    sources = sorted([*here.glob("*.py"), *(here.parent / "examiner" / "properties").glob("*.py")])
    status = {source.name: source.stat() for source in sources}
    return "".join(f"{name}/{each.st_size}/{each.st_mtime_ns};" for name, each in status.items()).encode()
