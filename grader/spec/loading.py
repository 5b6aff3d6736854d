"""exercise.yaml -> Exercise: read with all that is wrong told at once, and cached, so that most runs need no YAML."""

import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from grader.errors import SpecError
from grader.spec import problem
from grader.spec.document import Node
from grader.spec.exercise import Exercise
from grader.spec.paths import write_versioned_cache
from grader.spec.problem import BLANK, MOST_PROBLEMS, Problem

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
    exercise = _read_or_cached(path).with_placeholders()
    if stamp is not None:
        _loaded[path.absolute()] = stamp, exercise
    return exercise


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _read_or_cached(path: Path) -> Exercise:
    cached = _cached_file(path)
    if cached is not None:
        try:
            return _decode(cached.read_bytes())
        except (OSError, msgspec.MsgspecError):
            pass  # never read, or by another version of the kit

    exercise = read_exercise(path)
    if cached is not None:
        write_versioned_cache(cached, msgspec.msgpack.encode(exercise))
    return exercise


def _cached_file(path: Path) -> Path | None:
    """Where this description, as this version of the reader reads it, is cached; None where there is none to read."""
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
    kit = Path(__file__).parents[1]
    sources = sorted((kit / "spec").glob("*.py"))
    status = {source.relative_to(kit): source.stat() for source in sources}
    return "".join(f"{path}/{each.st_size}/{each.st_mtime_ns};" for path, each in status.items()).encode()


LOOK_CLOSER = re.compile(rf"{BLANK}|\d[eE][-+]?\d".encode())
"""What fits a record and may still be wrong: a blank, or a number that YAML takes for text."""

SHAPERS = ("constructor", "inputs", "sizes", "method", "outputs", "property")
"""Keys of a check or of the interface that decide what the check's other arguments may be."""


def read_exercise(path: Path, reference: str | None = None, starter: str | None = None) -> Exercise:
    """The exercise described by the file, its names and fragments held against the sources that are given.

    Raises `SpecError`, whose problems each say where, what was expected, what was found and what to write.
    """
    from grader.spec.document import MAX_BYTES, RefusedError, read_document
    from grader.spec.soundness import unsound_parts

    shown = _shown(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SpecError([f"{shown}: cannot be read: {error.strerror}"]) from error
    try:
        root, written = read_document(content)
    except RefusedError as error:
        raise SpecError([_sentence(error.problem, shown)]) from error
    exercise, misfits, broken = _convert(root, path.parent.name, closely=LOOK_CLOSER.search(content) is not None)
    said = {each.path for each in written if each.path}
    broken |= said
    problems = [*written, *(each for each in misfits if each.path not in said)]
    against = list(_against_sources(exercise, reference, starter))
    unsound = [each for each in unsound_parts(exercise) if not _follows_from(each.path, against)]
    meaning = [*unsound, *against]
    problems += [each for each in meaning if not _rests_on(each.path, broken)]
    if problems:
        told = _sentences(problems, root, shown)
        more = [f"{shown}: and {len(told) - MOST_PROBLEMS} more problems"] * (len(told) > MOST_PROBLEMS)
        raise SpecError(told[:MOST_PROBLEMS] + more)
    return exercise


def _against_sources(exercise: Exercise, reference: str | None, starter: str | None) -> Iterator[Problem]:
    from grader.spec.call_signatures import misnamed_parts
    from grader.spec.fragments import lost_in_starter, mismatches

    if starter is not None:
        yield from lost_in_starter(exercise, starter)
        yield from misnamed_parts(exercise, starter)
    if reference is not None:
        yield from mismatches(exercise, reference)
        yield from misnamed_parts(exercise, reference)


NAMES_OF = {"defaults": "constructor", "probability": "constructor", "mask": "inputs", "input": "inputs"}
"""Arguments of a check that name what stands under another key."""


def _follows_from(path: problem.KeyPath, against: list[Problem]) -> bool:
    """Whether a name that a check gives is only unknown because it was misspelt where it is declared."""
    if path[:1] != ("checks",) or path[2:3] == () or path[2] not in NAMES_OF:
        return False
    declared = NAMES_OF[str(path[2])]
    return any(each.path[:-1] in (("interface", declared), (*path[:2], declared)) for each in against)


def _convert(root: Node, exercise_id: str, *, closely: bool) -> tuple[Exercise, list[Problem], set[problem.KeyPath]]:
    """The exercise, or what can be made of it, why that is not all, and the paths that are not what they say."""
    data = root.data()
    complaint = ""
    if not closely and isinstance(data, dict) and "id" not in data:
        try:
            return _made(data, exercise_id), [], set()
        except msgspec.ValidationError as error:
            complaint = str(error)
    from grader.spec.fitting import fit

    data, misfits, broken = fit(root)
    if complaint and not misfits:
        misfits = [Problem((), "a description of an exercise", complaint, "compare it with another exercise's")]
    return _made(data, exercise_id), misfits, broken


def _made(data: dict[str, object], exercise_id: str) -> Exercise:
    """The exercise with every check named; the property's name serves where none is given."""
    exercise = msgspec.convert({**data, "id": exercise_id}, Exercise, strict=True)
    checks = [
        check if check.id else msgspec.structs.replace(check, id=str(check.__struct_config__.tag))
        for check in exercise.checks
    ]
    return msgspec.structs.replace(exercise, checks=checks)


def _rests_on(path: problem.KeyPath, broken: Iterable[problem.KeyPath]) -> bool:
    """Whether what was found at the path may come of something that was broken already."""
    for other in broken:
        shorter = min(len(path), len(other))
        if path[:shorter] == other[:shorter]:
            return True
        if path[:1] == ("checks",) and other[:1] == ("interface",) and (len(other) == 1 or other[1] in SHAPERS):
            return True
        if path[:1] == ("checks",) and other[:2] == path[:2] and other[2] in SHAPERS:
            return True
        if path[2:3] == ("for",) and other[:1] == ("defects",):
            return True
    return False


def _sentences(problems: list[Problem], root: Node, shown: str) -> list[str]:
    """The problems in the order of the file; what an alias repeats is told once."""
    placed: dict[tuple[object, ...], Problem] = {}
    for each in problems:
        line, column = (each.line, each.column) if each.line else root.place(each.path, at_key=each.at_key)
        told = (line, column, each.path[-1:], each.expected, each.found)
        placed.setdefault(told, msgspec.structs.replace(each, line=line, column=column))
    return [_sentence(each, shown) for each in sorted(placed.values(), key=lambda each: (each.line, each.column))]


def _sentence(each: Problem, shown: str) -> str:
    return each.sentence(f"{shown}:{each.line}:{each.column}")


def _shown(path: Path) -> str:
    """The path as messages show it: from here where it lies below."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
