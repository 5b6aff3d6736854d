"""Read an exercise.yaml into an `Exercise`, and report all its problems at once.

The result is cached in the course folder, because parsing YAML is slow.
"""

import contextlib
import functools
import hashlib
from pathlib import Path

import msgspec

from grader.errors import SpecError
from grader.spec.call_signatures import name_problems
from grader.spec.document import MAX_DESCRIPTION_BYTES, Document, RefusedError, read_document
from grader.spec.exercise import Exercise
from grader.spec.files import read_cache, write_versioned_cache
from grader.spec.fragments import reference_problems, starter_problems
from grader.spec.paths import VARIATIONS
from grader.spec.problem import MAX_PROBLEMS, Problem
from grader.spec.schema_problems import schema_problems
from grader.spec.soundness import soundness_problems
from grader.spec.variations import variation_sources

_decode = msgspec.msgpack.Decoder(Exercise).decode

Stamp = tuple[int, int, int]
"""A file's inode, size and time of the last change."""

_loaded: dict[Path, tuple[list[Stamp | None], Exercise]] = {}
"""The exercises that this process has loaded. Each is valid until the stamp of one of its files changes."""


def loaded_exercises() -> list[Exercise]:
    """Return the exercises whose descriptions this process has loaded, wherever they are."""
    return [exercise for _, exercise in _loaded.values()]


def load_exercise(path: Path) -> Exercise:
    """Return the exercise in the file, from a cache if possible.

    Raise `SpecError` with a sentence for each problem: its place, what was expected, what was found, and the remedy.
    """
    stamps = [_stamp(path), _stamp(path.with_name(VARIATIONS))]
    loaded = _loaded.get(path.absolute())
    if loaded is not None and loaded[0] == stamps:
        return loaded[1]
    exercise = _read_or_cached(path).with_placeholders()
    if stamps[0] is not None:
        _loaded[path.absolute()] = stamps, exercise
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
            return _decode(read_cache(cached))
        except (OSError, msgspec.MsgspecError):
            pass  # not cached yet, or cached by another version of the kit

    exercise = read_exercise(path)
    if cached is not None:
        write_versioned_cache(cached, msgspec.msgpack.encode(exercise))
    return exercise


def _cached_file(path: Path) -> Path | None:
    """Return the cache file for the present content and this version of the kit; None if the file cannot be read."""
    try:
        digest = hashlib.sha256(path.read_bytes())
    except OSError:
        return None
    with contextlib.suppress(OSError):  # most exercises have none
        digest.update(path.with_name(VARIATIONS).read_bytes())
    digest.update(_reader_stamp())
    course = path.absolute().parent.parent.parent
    return course / ".grader" / "exercises" / f"{path.parent.name}-{digest.hexdigest()[:16]}.msgpack"


@functools.cache
def _reader_stamp() -> bytes:
    """Return bytes that change with the code of `spec/`."""
    kit = Path(__file__).parents[1]
    sources = sorted((kit / "spec").glob("*.py"))
    status = {source.relative_to(kit): source.stat() for source in sources}
    return "".join(f"{path}/{each.st_size}/{each.st_mtime_ns};" for path, each in status.items()).encode()


def read_exercise(path: Path, reference: str | None = None, starter: str | None = None) -> Exercise:
    """Return the exercise in the file. If sources are given, check its names and fragments against them.

    Raise `SpecError` with a sentence for each problem: its place, what was expected, what was found, and the remedy.
    """
    shown = _display_path(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_DESCRIPTION_BYTES + 1)
    except OSError as error:
        raise SpecError([f"{shown}: cannot be read: {error.strerror}"]) from error
    try:
        document = read_document(content)
    except RefusedError as error:
        raise SpecError([_sentence(error.problem, shown)]) from error
    wrong = {each.path for each in document.problems}
    variations = _read_variations(path.with_name(VARIATIONS))
    try:
        exercise = _convert(document.data, path.parent.name, variations)
    except msgspec.ValidationError as error:
        found = schema_problems(document)
        if not found and not document.problems:
            found = [_unexplained(str(error))]
    else:
        found = _semantic_problems(exercise, reference, starter)
    problems = [*document.problems, *(each for each in found if each.path not in wrong)]
    if problems:
        sentences = _sentences(problems, document, shown)
        more = [f"{shown}: and {len(sentences) - MAX_PROBLEMS} more problems"] * (len(sentences) > MAX_PROBLEMS)
        raise SpecError(sentences[:MAX_PROBLEMS] + more)
    return exercise


def _read_variations(path: Path) -> dict[str, str]:
    """Return the source of each class in a file of variations; none if there is no file. Raise `SpecError`."""
    shown = _display_path(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_DESCRIPTION_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SpecError([f"{shown}: cannot be read: {error.strerror}"]) from error
    try:
        return variation_sources(content.decode())
    except SyntaxError as error:
        raise SpecError([f"{shown}:{error.lineno}: expected Python, got {error.msg}; correct that line"]) from error
    except ValueError as error:
        raise SpecError([f"{shown}: expected Python in UTF-8, got {error}; save it as UTF-8"]) from error


def _convert(data: dict[str, object], exercise_id: str, variations: dict[str, str]) -> Exercise:
    """Return the exercise; name each check without an id after its property."""
    if given := {"id", "variations"} & {*data}:
        raise msgspec.ValidationError(f"authors do not write {given}")
    exercise = msgspec.convert({**data, "id": exercise_id, "variations": variations}, Exercise, strict=True)
    checks = [
        check if check.id else msgspec.structs.replace(check, id=str(check.__struct_config__.tag))
        for check in exercise.checks
    ]
    return msgspec.structs.replace(exercise, checks=checks)


def _unexplained(message: str) -> Problem:
    remedy = "compare it with the file of another exercise"
    return Problem(path=(), expected="a description of an exercise", found=message, remedy=remedy)


def _semantic_problems(exercise: Exercise, reference: str | None, starter: str | None) -> list[Problem]:
    """Return the problems of values that have the right types.

    A check with a name that is not in the sources is reported for that name only.
    """
    found: list[Problem] = []
    for source, fragment_problems in ((starter, starter_problems), (reference, reference_problems)):
        if source is not None:
            found += [*fragment_problems(exercise, source), *name_problems(exercise, source)]
    is_interface_wrong = any(each.path[:1] == ("interface",) for each in found)
    wrong_checks = {each.path[:2] for each in found if each.path[:1] == ("checks",)}
    return found + [
        each
        for each in soundness_problems(exercise)
        if each.path[:1] != ("checks",) or not (is_interface_wrong or each.path[:2] in wrong_checks)
    ]


def _sentences(problems: list[Problem], document: Document, shown: str) -> list[str]:
    """Return the problems as sentences in the order of the file; report a problem once if an alias repeats it."""
    placed: dict[tuple[object, ...], Problem] = {}
    for each in problems:
        line, column = (each.line, each.column) if each.line else document.place(each.path, at_key=each.at_key)
        key = (line, column, each.path[-1:], each.expected, each.found)
        placed.setdefault(key, msgspec.structs.replace(each, line=line, column=column))
    return [_sentence(each, shown) for each in sorted(placed.values(), key=lambda each: (each.line, each.column))]


def _sentence(each: Problem, shown: str) -> str:
    return each.sentence(f"{shown}:{each.line}:{each.column}")


def _display_path(path: Path) -> str:
    """Return a path for messages: relative to the current folder if it is inside."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
