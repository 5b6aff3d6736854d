"""Seal an exercise: record the answers of its reference at a few seeds, so that checks run without the reference."""

from typing import Any

import msgspec
from msgspec import Struct

from grader.author.explaining import lock_explanations
from grader.checks.outcome import Examination, Status
from grader.checks.recording import Recorder
from grader.checks.runner import Runner, new_reference
from grader.errors import BrokenExerciseError
from grader.processes.workers import WorkerSource
from grader.spec.exercise import Exercise, near_miss_id
from grader.spec.fragments import make_variant
from grader.spec.paths import Course
from grader.student.explanations import SOLUTION
from grader.submission import submission_from_text
from grader.verdict.key import Key, defects_in, variant_name
from grader.verdict.key_making import KEY_SEED, extend_time_limit, find_key, require_all_passed
from grader.verdict.near_misses import near_miss_texts

MAX_SEEDS = 3
MAX_ANSWERS_BYTES = 1_300_000
"""Seeds are recorded while all answers fit into this many bytes."""

FIRST_SEED = 6
"""The first seed may take this many times as many bytes."""


class SealedExercise(Struct, frozen=True, kw_only=True):
    """The files that replace a reference.

    `explanations` is empty if the edition has none, and `explained` counts the defects in it. `fails_starter` says
    whether a recorded check fails the starter at every seed.
    """

    answers: bytes
    explanations: bytes
    explained: int
    key: bytes
    fails_starter: bool


def seal(
    course: Course, runner: Runner, most_bytes: int = MAX_ANSWERS_BYTES, *, explained_by: WorkerSource | None = None
) -> SealedExercise:
    """Record the answers of the reference and the failures of its variants, at as many seeds as fit.

    The workers of `explained_by` run variants to lock the explanations; without it no explanation is locked. Raises
    `BrokenExerciseError` if not even one seed fits.
    """
    exercise = runner.exercise
    key = find_key(course, runner)
    answers, fails_starter = _record(course, runner, most_bytes)
    locked = lock_explanations(course, runner, explained_by) if explained_by else None
    return SealedExercise(
        answers=answers,
        explanations=locked.content() if locked else b"",
        explained=len(locked.locks.keys() - {SOLUTION}) if locked else 0,
        key=_sealed_key(exercise, key),
        fails_starter=fails_starter,
    )


def _record(course: Course, runner: Runner, most_bytes: int) -> tuple[bytes, bool]:
    """Return the file of answers, and whether the starter fails at every recorded seed."""
    exercise, recorder = runner.exercise, Recorder()
    runner.reference = new_reference(course, exercise)
    content, fails_starter = b"", True
    with extend_time_limit(runner):
        for seed in range(KEY_SEED, KEY_SEED + MAX_SEEDS):
            fails_here = _record_seed(course, runner, recorder, seed)
            longer = recorder.content()
            if not content and len(longer) > FIRST_SEED * most_bytes:
                takes = f"the answers of one seed take {len(longer):,} bytes"
                most = f"{FIRST_SEED * most_bytes:,}"
                raise BrokenExerciseError(f"{exercise.id}: {takes}, more than {most}; write smaller sizes")
            if content and len(longer) > most_bytes:
                break
            content, fails_starter = longer, fails_starter and fails_here
    return content, fails_starter


def _record_seed(course: Course, runner: Runner, recorder: Recorder, seed: int) -> bool:
    """Record one seed; return whether a check fails the starter."""
    exercise = runner.exercise
    checks = [check.id for check in exercise.checks]
    text = course.reference_text(exercise.id)
    runner.reference.needs_all_size_cases = True
    examination = runner.examine(submission_from_text(text), seed, only=checks)
    runner.reference.needs_all_size_cases = False
    require_all_passed(exercise.id, examination)
    answers = runner.reference.questions_and_answers()
    failures = {}
    fails_starter = not exercise.defects
    for subset in exercise.subsets():
        if subset:
            variant = make_variant(text, exercise, subset)
            examination = runner.examine(submission_from_text(variant), seed, only=checks)
            failures[_by_numbers(exercise, variant_name(subset))] = _failures(examination)
            fails_starter = any(outcome.status is not Status.PASSED for outcome in examination.outcomes)
    for name, near_miss in near_miss_texts(exercise, text):
        examination = runner.examine(submission_from_text(near_miss), seed, only=checks)
        failures[_by_numbers(exercise, name)] = _failures(examination)
    recorder.add(seed, answers, failures, compared={check.id: check.only_compared for check in exercise.checks})
    return fails_starter  # the last subset contains every defect


def _failures(examination: Examination) -> dict[str, tuple[str, Any]]:
    """Return the kind of failure and the deviation of each failed check."""
    return {
        outcome.check: (outcome.finding.signature(), examination.deviations.get(outcome.check))
        for outcome in examination.outcomes
        if outcome.status is Status.FAILED and outcome.finding
    }


def _sealed_key(exercise: Exercise, key: Key) -> bytes:
    """Return the key without syntax trees and hidden tests, with numbers in place of the defects' ids."""
    checks = {check.id for check in exercise.checks}

    def sealed(kinds: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        return {
            _by_numbers(exercise, name): {check: kind for check, kind in signatures.items() if check in checks}
            for name, signatures in kinds.items()
        }

    key = Key(digest="", signatures=sealed(key.signatures), methods={}, near_misses=sealed(key.near_misses))
    return msgspec.json.encode(key, order="sorted")


def _by_numbers(exercise: Exercise, variant: str) -> str:
    """Return a variant's name with the numbers of its defects, and of its near miss, in place of their ids."""
    numbers = {defect: str(number) for defect, number in exercise.numbers().items()}
    numbers |= {each.id: near_miss_id(number) for number, each in enumerate(exercise.near_misses, 1)}
    return variant_name(frozenset(numbers[name] for name in defects_in(variant)))
