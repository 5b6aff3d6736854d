"""The lattice: every subset of an exercise's defects put back and examined, kept as the key to students' outcomes.

What a key, a proof and a gradebook's verdicts depend on is a digest. The kit's part is derived: a module's own
source and that of all it imports, found by reading import statements. What is only shown (texts, hints, titles) and
what is only added up (points) is no part of an exercise's digest.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import structs

from grader.course.fragments import put_back
from grader.course.loading import load_exercise
from grader.course.paths import Course, write_versioned_cache
from grader.course.records import Record
from grader.errors import BrokenExerciseError, KitError
from grader.examiner.outcome import Examination, Key, Status
from grader.submission import submission_from_text

if TYPE_CHECKING:
    from grader.examiner.examiner import Examiner

KIT = Path(__file__).resolve().parents[1]
JUDGING = "grader.verdict.judge"
"""The module that takes a submission to a verdict."""

FROM = re.compile(rb"from (grader[.\w]*) import (\([^)]*\)|[^\n#]*)")
IMPORT = re.compile(rb"import ([\w., ]*grader\.[\w., ]+)")
MODULE = re.compile(rb"grader\.[.\w]+")
RUN = re.compile(rb'"-m", "(grader\.[.\w]+)"')
"""Three patterns that begin with letters are six times as fast as one of their alternatives."""

NAME = re.compile(rb"\w+")
ALL_BESIDE = b"iter_modules("
"""In a package that imports every module in its folder."""


def key_digest(course: Course, exercise_id: str) -> str:
    """What a key depends on."""
    torch = sys.modules.get("torch")  # which knows its version sooner than the package's files tell it
    version = str(torch.__version__) if torch else metadata.version("torch")
    parts = (version.split("+")[0], kit_digest(), exercise_digest(course, exercise_id))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def exercise_digest(course: Course, exercise_id: str) -> str:
    """What verdicts depend on in an exercise: what its description asks for, its reference, its hidden tests."""
    exercise = load_exercise(course.description(exercise_id))
    digest = hashlib.sha256(msgspec.json.encode(_judged_part(exercise), order="sorted"))
    description = course.description(exercise_id)
    files = [file for file in course.judged_by(exercise_id) if file != description]
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents, strict=True):
        digest.update(f"{file.relative_to(course.root)}\0{len(content)}\0".encode() + content)
    imported = sorted({name for content in contents for name in _imported(content)})
    if imported:
        digest.update(kit_digest(*imported).encode())
    return digest.hexdigest()


def kit_digest(*modules: str) -> str:
    """What these modules of the kit depend on, themselves included; the judging path unless told otherwise."""
    digest = hashlib.sha256()
    for name in sorted(depends_on(*(modules or (JUDGING,)))):
        digest.update(f"{name}\0".encode() + _source(name).digest)
    return digest.hexdigest()


@cache
def kit_version() -> str:
    """The package's version, and what its verdicts depend on."""
    return f"{metadata.version('grader')}+{kit_digest()[:12]}"


def depends_on(*modules: str) -> set[str]:
    """The kit's modules that these depend on, themselves included.

    The package itself is left out: it imports what is asked of it, and nothing before.
    """
    there = _modules()
    found: set[str] = set()
    ahead = [name for name in modules if name in there]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += [each for each in _source(name).imports if each in there]
    return found


class _Source(NamedTuple):
    digest: bytes
    imports: list[str]


@cache
def _source(name: str) -> _Source:
    """A module's source, as it was when this process first asked."""
    content = _read(_modules()[name])
    imports = [*_imported(content), name.rpartition(".")[0]]
    if ALL_BESIDE in content:
        imports += [each for each in _modules() if each.startswith(f"{name}.")]
    return _Source(hashlib.sha256(content).digest(), imports)


def _imported(content: bytes) -> Iterator[str]:
    """What a source may import of the kit: names of modules, and others."""
    for module, names in FROM.findall(content):
        yield module.decode()
        yield from (f"{module.decode()}.{name.decode()}" for name in NAME.findall(names))  # some are modules
    yield from (module.decode() for names in IMPORT.findall(content) for module in MODULE.findall(names))
    yield from (f"{program.decode()}{main}" for program in RUN.findall(content) for main in ("", ".__main__"))


@cache
def _modules() -> dict[str, str]:
    """The paths of the kit's modules by their names; those of packages are their `__init__`s'."""
    found = {}
    for folder, _, files in os.walk(KIT):
        package = ".".join(("grader", *Path(folder).relative_to(KIT).parts))
        for file in files:
            stem, suffix = file[:-3], file[-3:]
            if suffix == ".py":
                found[package if stem == "__init__" else f"{package}.{stem}"] = f"{folder}{os.sep}{file}"
    del found["grader"]
    return found


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)  # a third of the time that opening a file object takes
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _judged_part(record: Record) -> dict[str, Any]:
    """A record's fields but for those that are only shown or added up."""
    return {name: _plain(value) for name, value in structs.asdict(record).items() if name not in record.ONLY_SHOWN}


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return _judged_part(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value


KEY_SEED = 20_260_101
PATIENCE = 120.0
"""Seconds that the reference or a variant of it may take in all."""


def find_key(course: Course, examiner: "Examiner") -> Key:
    """The key that fits the exercise as it is now: the one beside it, the one remembered, or a new one.

    The reference is examined on this machine before any key is believed; `BrokenExerciseError` when it fails. A sealed
    edition has no reference, and its key is believed.
    """
    if examiner.exercise.recorded:
        return _sealed_key(course.key(examiner.exercise.id))
    digest = key_digest(course, examiner.exercise.id)
    proven = course.state_folder() / "proven" / f"{examiner.exercise.id}-{digest[:16]}.json"
    remembered = _read_key(proven, digest)
    if remembered is not None:
        return remembered
    with patience(examiner):
        _prove_reference(course, examiner)
        key = _read_key(course.key(examiner.exercise.id), digest) or _make_key(course, examiner)
    write_versioned_cache(proven, encode_key(key))
    return key


@contextmanager
def patience(examiner: "Examiner") -> Iterator[None]:
    """The kit's own sources may take their time: on a busy machine it is no fault of theirs."""
    exercise = examiner.exercise
    seconds = structs.replace(exercise.limits.seconds, total=max(PATIENCE, exercise.limits.seconds.total))
    examiner.exercise = structs.replace(exercise, limits=structs.replace(exercise.limits, seconds=seconds))
    try:
        yield
    finally:
        examiner.exercise = exercise


def has_key(course: Course, exercise_id: str) -> bool:
    """Whether the key beside the exercise fits it as it is now."""
    return _read_key(course.key(exercise_id), key_digest(course, exercise_id)) is not None


def _make_key(course: Course, examiner: "Examiner") -> Key:
    """Examine every variant."""
    exercise = examiner.exercise
    reference = course.reference(exercise.id).read_text(encoding="utf-8")
    failure_kinds, methods = {}, {}
    for subset in exercise.subsets():
        text = put_back(reference, [defect for defect in exercise.defects if defect.id in subset])
        seen = examiner.examine(submission_from_text(text), KEY_SEED)
        if any(outcome.status in (Status.TIMED_OUT, Status.NOT_RUN) for outcome in seen.outcomes):
            seen = examiner.examine(submission_from_text(text), KEY_SEED)  # the machine may have been busy
        if not subset:
            require_all_passed(exercise.id, seen)
        if seen.unloadable is not None:
            raise BrokenExerciseError(
                f"{exercise.id}: the variant with {sorted(subset)} does not load: {seen.unloadable.text}"
            )
        name = variant_name(subset)
        failure_kinds[name] = {
            outcome.check: outcome.failure_kind() for outcome in seen.outcomes if outcome.status is not Status.PASSED
        }
        methods[name] = seen.methods
    return Key(key_digest(course, exercise.id), failure_kinds, methods)


def _prove_reference(course: Course, examiner: "Examiner") -> None:
    """Raise `BrokenExerciseError` unless the reference passes every check here and now."""
    exercise = examiner.exercise
    text = course.reference(exercise.id).read_text(encoding="utf-8")
    require_all_passed(exercise.id, examiner.examine(submission_from_text(text), KEY_SEED))


def require_all_passed(exercise_id: str, seen: Examination) -> None:
    """Raise `BrokenExerciseError` with all that was seen of a reference that fails."""
    problems = [
        f"{outcome.check} ({outcome.failure_kind()}): {outcome.finding and outcome.finding.text}"
        for outcome in seen.outcomes
        if outcome.status is not Status.PASSED
    ]
    if seen.unloadable is not None:
        problems.insert(0, seen.unloadable.text)
    if problems:
        raise BrokenExerciseError(
            f"the reference of {exercise_id} fails its own checks, so nothing is graded: " + "; ".join(problems)
        )


def encode_key(key: Key) -> bytes:
    """The key as its file holds it."""
    return msgspec.json.format(msgspec.json.encode(key, order="sorted"), indent=1) + b"\n"


def variant_name(subset: frozenset[str]) -> str:
    """A subset of defects as the key calls it."""
    return "+".join(sorted(subset))


AS_IT_WAS = "as it was"
"""What a sealed key says in place of a method's fingerprint: that a defect is there."""


def present_in(variant: str) -> dict[str, str]:
    """What a sealed edition has in place of the fingerprints of a variant's methods: the defects that it has."""
    return dict.fromkeys(filter(None, variant.split("+")), AS_IT_WAS)


def _sealed_key(path: Path) -> Key:
    try:
        key = msgspec.json.decode(path.read_bytes(), type=Key)
    except (OSError, msgspec.MsgspecError) as error:
        raise KitError(f"{path} cannot be read ({error}); get the edition anew") from None
    return structs.replace(key, methods={name: present_in(name) for name in key.failure_kinds})


def _read_key(path: Path, digest: str) -> Key | None:
    try:
        key = msgspec.json.decode(path.read_bytes(), type=Key)
    except (OSError, msgspec.MsgspecError):
        return None
    is_sound = key.failure_kinds.get("") == {}  # of a reference that passes
    return key if is_sound and key.digest == digest else None
