"""Read exercise.yaml into an Exercise, report all problems at once, and cache it: most runs need no YAML."""

import functools
import hashlib
from pathlib import Path

import msgspec

from grader.errors import SpecError
from grader.spec.call_signatures import misnamed_parts
from grader.spec.document import MAX_BYTES, Document, RefusedError, read_document
from grader.spec.exercise import Exercise
from grader.spec.fragments import lost_in_starter, mismatches
from grader.spec.misfits import misfits
from grader.spec.paths import write_versioned_cache
from grader.spec.problem import MOST_PROBLEMS, Problem
from grader.spec.soundness import unsound_parts

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


def read_exercise(path: Path, reference: str | None = None, starter: str | None = None) -> Exercise:
    """The exercise described by the file, its names and fragments held against the sources that are given.

    Raises `SpecError`, whose problems each say where, what was expected, what was found and what to write.
    """
    shown = _shown(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SpecError([f"{shown}: cannot be read: {error.strerror}"]) from error
    try:
        document = read_document(content)
    except RefusedError as error:
        raise SpecError([_sentence(error.problem, shown)]) from error
    wrong = {each.path for each in document.problems}
    try:
        exercise = _made(document.data, path.parent.name)
    except msgspec.ValidationError as error:
        found = misfits(document) or [_unexplained(str(error))]
    else:
        found = _meaningless_parts(exercise, reference, starter)
    problems = [*document.problems, *(each for each in found if each.path not in wrong)]
    if problems:
        sentences = _sentences(problems, document, shown)
        more = [f"{shown}: and {len(sentences) - MOST_PROBLEMS} more problems"] * (len(sentences) > MOST_PROBLEMS)
        raise SpecError(sentences[:MOST_PROBLEMS] + more)
    return exercise


def _made(data: dict[str, object], exercise_id: str) -> Exercise:
    """Return the exercise; a check without an id is named by its property."""
    if "id" in data:
        raise msgspec.ValidationError("the folder's name is the id")
    exercise = msgspec.convert({**data, "id": exercise_id}, Exercise, strict=True)
    checks = [
        check if check.id else msgspec.structs.replace(check, id=str(check.__struct_config__.tag))
        for check in exercise.checks
    ]
    return msgspec.structs.replace(exercise, checks=checks)


def _unexplained(complaint: str) -> Problem:
    return Problem((), "a description of an exercise", complaint, "compare it with another exercise's")


def _meaningless_parts(exercise: Exercise, reference: str | None, starter: str | None) -> list[Problem]:
    """Return names and numbers that make no sense together.

    Checks are skipped if they rest on a name that is not in the sources: that name is reported already.
    """
    found: list[Problem] = []
    for source, compare in ((starter, lost_in_starter), (reference, mismatches)):
        if source is not None:
            found += [*compare(exercise, source), *misnamed_parts(exercise, source)]
    is_interface_wrong = any(each.path[:1] == ("interface",) for each in found)
    wrong_checks = {each.path[:2] for each in found if each.path[:1] == ("checks",)}
    return found + [
        each
        for each in unsound_parts(exercise)
        if each.path[:1] != ("checks",) or not (is_interface_wrong or each.path[:2] in wrong_checks)
    ]


def _sentences(problems: list[Problem], document: Document, shown: str) -> list[str]:
    """Return the problems in the order of the file; report once what an alias repeats."""
    placed: dict[tuple[object, ...], Problem] = {}
    for each in problems:
        line, column = (each.line, each.column) if each.line else document.place(each.path, at_key=each.at_key)
        key = (line, column, each.path[-1:], each.expected, each.found)
        placed.setdefault(key, msgspec.structs.replace(each, line=line, column=column))
    return [_sentence(each, shown) for each in sorted(placed.values(), key=lambda each: (each.line, each.column))]


def _sentence(each: Problem, shown: str) -> str:
    return each.sentence(f"{shown}:{each.line}:{each.column}")


def _shown(path: Path) -> str:
    """The path as messages show it: from here where it lies below."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
