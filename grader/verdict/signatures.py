"""The signatures: every subset of an exercise's defects put back and examined, kept as the key to students'
outcomes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import structs

from grader.checks.outcome import Examination, Key, Status, variant_name
from grader.checks.runner import Runner
from grader.errors import BrokenExerciseError
from grader.spec.fragments import put_back
from grader.spec.paths import Course, write_versioned_cache
from grader.submission import submission_from_text
from grader.verdict.digest import key_digest

KEY_SEED = 20_260_101
PATIENCE = 120.0
"""Seconds that the reference or a variant of it may take in all."""


def find_key(course: Course, runner: Runner) -> Key:
    """The key that fits the exercise as it is now: the one beside it, the one remembered, or a new one.

    The reference is examined on this machine before any key is believed; `BrokenExerciseError` when it fails.
    """
    digest = key_digest(course, runner.exercise.id)
    proven = course.state_folder() / "proven" / f"{runner.exercise.id}-{digest[:16]}.json"
    remembered = _read_key(proven, digest)
    if remembered is not None:
        return remembered
    with patience(runner):
        _prove_reference(course, runner)
        key = _read_key(course.key(runner.exercise.id), digest) or _make_key(course, runner)
    write_versioned_cache(proven, encode_key(key))
    return key


@contextmanager
def patience(runner: Runner) -> Iterator[None]:
    """The kit's own sources may take their time: on a busy machine it is no fault of theirs."""
    exercise = runner.exercise
    seconds = structs.replace(exercise.limits.seconds, total=max(PATIENCE, exercise.limits.seconds.total))
    runner.exercise = structs.replace(exercise, limits=structs.replace(exercise.limits, seconds=seconds))
    try:
        yield
    finally:
        runner.exercise = exercise


def has_key(course: Course, exercise_id: str) -> bool:
    """Whether the key beside the exercise fits it as it is now."""
    return _read_key(course.key(exercise_id), key_digest(course, exercise_id)) is not None


def _make_key(course: Course, runner: Runner) -> Key:
    """Examine every variant."""
    exercise = runner.exercise
    reference = course.reference(exercise.id).read_text(encoding="utf-8")
    failure_kinds, methods = {}, {}
    for subset in exercise.subsets():
        text = put_back(reference, [defect for defect in exercise.defects if defect.id in subset])
        seen = runner.examine(submission_from_text(text), KEY_SEED)
        if any(outcome.status in (Status.TIMED_OUT, Status.NOT_RUN) for outcome in seen.outcomes):
            seen = runner.examine(submission_from_text(text), KEY_SEED)  # the machine may have been busy
        if not subset:
            require_all_passed(exercise.id, seen)
        if seen.unloadable is not None:
            raise BrokenExerciseError(
                f"{exercise.id}: the variant with {sorted(subset)} does not load: {seen.unloadable}"
            )
        name = variant_name(subset)
        failure_kinds[name] = {
            outcome.check: outcome.signature() for outcome in seen.outcomes if outcome.status is not Status.PASSED
        }
        methods[name] = seen.methods
    return Key(digest=key_digest(course, exercise.id), failure_kinds=failure_kinds, methods=methods)


def _prove_reference(course: Course, runner: Runner) -> None:
    """Raise `BrokenExerciseError` unless the reference passes every check here and now."""
    exercise = runner.exercise
    text = course.reference(exercise.id).read_text(encoding="utf-8")
    require_all_passed(exercise.id, runner.examine(submission_from_text(text), KEY_SEED))


def require_all_passed(exercise_id: str, seen: Examination) -> None:
    """Raise `BrokenExerciseError` with all findings about a reference that fails."""
    problems = [
        f"{outcome.check} ({outcome.signature()}): {outcome.finding or ''}"
        for outcome in seen.outcomes
        if outcome.status is not Status.PASSED
    ]
    if seen.unloadable is not None:
        problems.insert(0, str(seen.unloadable))
    if problems:
        raise BrokenExerciseError(
            f"the reference of {exercise_id} fails its own checks, so nothing is graded: " + "; ".join(problems)
        )


def encode_key(key: Key) -> bytes:
    """The key as its file holds it."""
    return msgspec.json.format(msgspec.json.encode(key, order="sorted"), indent=1) + b"\n"


def _read_key(path: Path, digest: str) -> Key | None:
    try:
        key = msgspec.json.decode(path.read_bytes(), type=Key)
    except (OSError, msgspec.MsgspecError):
        return None
    is_sound = key.failure_kinds.get("") == {}  # of a reference that passes
    return key if is_sound and key.digest == digest else None
