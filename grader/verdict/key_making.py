"""Find an exercise's key: load the one that fits, or make it by examining every variant."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import structs

from grader.checks.outcome import Examination, Status
from grader.checks.runner import Runner
from grader.errors import BrokenExerciseError
from grader.spec.files import read_cache, write_versioned_cache
from grader.spec.fragments import make_variant
from grader.spec.paths import Course
from grader.submission import submission_from_text
from grader.verdict.digest import key_digest
from grader.verdict.key import REFERENCE, Key, encode_key, variant_name
from grader.verdict.near_misses import near_miss_texts

KEY_SEED = 20_260_101
LEAST_TOTAL = 120.0
"""Least total time limit of the reference and its variants, in seconds."""


def find_key(course: Course, runner: Runner) -> Key:
    """Return a key that fits the current exercise: the cached one, the stored one in key.json, or a new one.

    Raises `BrokenExerciseError` if the reference fails. It is examined once on each machine, before a key is trusted.
    """
    digest = key_digest(course, runner.exercise.id)
    cache = course.state_folder() / "proven" / f"{runner.exercise.id}-{digest[:16]}.json"
    cached = _read_key(cache, digest)
    if cached is not None:
        return cached
    with extend_time_limit(runner):
        _require_sound_reference(course, runner)
        key = _read_key(course.key(runner.exercise.id), digest) or _make_key(course, runner, digest)
    write_versioned_cache(cache, encode_key(key))
    return key


@contextmanager
def extend_time_limit(runner: Runner) -> Iterator[None]:
    """Raise the total time limit for the kit's own sources: a busy machine must not make them fail."""
    exercise = runner.exercise
    seconds = structs.replace(exercise.limits.seconds, total=max(LEAST_TOTAL, exercise.limits.seconds.total))
    runner.exercise = structs.replace(exercise, limits=structs.replace(exercise.limits, seconds=seconds))
    try:
        yield
    finally:
        runner.exercise = exercise


def has_key(course: Course, exercise_id: str) -> bool:
    """Return whether key.json fits the current exercise."""
    return _read_key(course.key(exercise_id), key_digest(course, exercise_id)) is not None


def _make_key(course: Course, runner: Runner, digest: str) -> Key:
    """Return a new key by examining every variant. The digest is that of the files before the examination."""
    exercise = runner.exercise
    reference = course.reference_text(exercise.id)
    signatures, methods = {}, {}
    for subset in exercise.subsets():
        text = make_variant(reference, exercise, subset)
        examination = _examine_variant(runner, text, f"the variant with {sorted(subset)}")
        if not subset:
            require_all_passed(exercise.id, examination)
        name = variant_name(subset)
        signatures[name] = examination.signatures()
        methods[name] = examination.methods
    return Key(
        digest=digest,
        signatures=signatures,
        methods=methods,
        near_misses=dict(_examine_near_misses(runner, reference)),
    )


def _examine_near_misses(runner: Runner, reference: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the signatures of each near miss, alone and beside other defects, by its name."""
    for name, text in near_miss_texts(runner.exercise, reference):
        yield name, _examine_variant(runner, text, f"the near miss {name}").signatures()


def _examine_variant(runner: Runner, text: str, label: str) -> Examination:
    """Examine a text of the kit's own, twice if it runs out of time: the machine may have been busy."""
    examination = runner.examine(submission_from_text(text), KEY_SEED)
    if any(outcome.status in (Status.TIMED_OUT, Status.NOT_RUN) for outcome in examination.outcomes):
        examination = runner.examine(submission_from_text(text), KEY_SEED)
    if examination.unloadable is not None:
        raise BrokenExerciseError(
            f"{runner.exercise.id}: {label} does not load: {examination.unloadable}; correct its fragments"
        )
    return examination


def _require_sound_reference(course: Course, runner: Runner) -> None:
    """Raise `BrokenExerciseError` unless the reference passes every check on this machine."""
    exercise = runner.exercise
    text = course.reference_text(exercise.id)
    require_all_passed(exercise.id, runner.examine(submission_from_text(text), KEY_SEED))


def require_all_passed(exercise_id: str, examination: Examination) -> None:
    """Raise `BrokenExerciseError` with all findings unless the reference passed every check."""
    problems = [
        f"{outcome.check} ({outcome.signature()}): {outcome.finding or ''}"
        for outcome in examination.outcomes
        if outcome.status is not Status.PASSED
    ]
    if examination.unloadable is not None:
        problems.insert(0, str(examination.unloadable))
    if problems:
        raise BrokenExerciseError(
            f"the reference of {exercise_id} fails its own checks, so nothing is graded: " + "; ".join(problems)
        )


def _read_key(path: Path, digest: str) -> Key | None:
    try:
        key = msgspec.json.decode(read_cache(path), type=Key)
    except (OSError, msgspec.MsgspecError):
        return None
    is_sound = key.signatures.get(REFERENCE) == {}  # the reference passes every check
    return key if is_sound and key.digest == digest else None
