"""The judge of submissions: from a file, or a source that was read, to its verdict."""

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Self

from msgspec import structs

from grader.checks.outcome import Examination, Key, Status, has_defect
from grader.errors import WorkerKilledError
from grader.processes.worker_source import CAN_FORK, open_worker_source
from grader.processes.workers import Fingerprinter, WorkerSource
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission
from grader.submission.choice import Choice
from grader.verdict.attribution import matching_variants
from grader.verdict.matching import compare_deviations, find_partial_fixes
from grader.verdict.verdict import Verdict, make_verdict, refuse

MAX_SEED = 2**31
MOST_MATCHING_VARIANTS = 4
"""Matching variants whose numbers are compared; where there are more, a crash hides the rest and numbers with it."""


def judge_file(
    course: Course,
    exercise_id: str,
    choice: Choice,
    *,
    seed: int | None = None,
    spawn: bool = not CAN_FORK,
    strict: bool = False,
) -> Verdict:
    """Return the verdict on a file; see `judging_file`."""
    with judging_file(course, exercise_id, choice, seed=seed, spawn=spawn, strict=strict) as verdict:
        return verdict


@contextmanager
def judging_file(
    course: Course,
    exercise_id: str,
    choice: Choice,
    *,
    seed: int | None = None,
    spawn: bool = not CAN_FORK,
    strict: bool = False,
) -> Iterator[Verdict]:
    """Give the verdict on a file before the processes that judged it are ended, which takes a while.

    `seed` is that of the inputs; None draws a fresh and secret one. `strict` refuses, with an `OpenHostError`, where a
    submission could reach files or the network. Raises `SpecError` for a wrong description and `BrokenExerciseError`
    when the reference fails.
    """
    name = course.shown(choice.path)
    seed = secrets.randbelow(MAX_SEED) if seed is None else seed
    exercise = load_exercise(course.description(exercise_id))
    refused = refuse(exercise, choice.read, name, seed)
    if refused is not None:
        yield refused
        return
    assert isinstance(choice.read, Submission)
    with open_judge(course, spawn=spawn, strict=strict, first=exercise_id) as judge:
        yield judge(exercise_id, choice.read, name, seed)


@contextmanager
def open_judge(
    course: Course, *, spawn: bool = not CAN_FORK, strict: bool = False, first: str = "", for_many: bool = False
) -> Iterator["Judge"]:
    """Open a judge with a worker source of its own, opened before any description, check or reference is.

    A worker for the exercise named `first` is started ahead. A judge `for_many` submissions takes a little longer to
    start, and less time for each submission.
    """
    with closing(open_worker_source(course.secret_folders(), spawn=spawn, for_many=for_many)) as source:
        if first:
            source.start_ahead(load_exercise(course.description(first)).limits)  # forked while the checks are imported
        with Judge(course, source, strict=strict) as judge:
            yield judge


class Judge:
    """The one path from a submission to its verdict. An exercise is opened when it is first needed.

    Files that `refuse` refuses never reach the judge.
    """

    def __init__(self, course: Course, source: WorkerSource, *, strict: bool = False) -> None:
        # imported now: workers are copies of the process that opened their source
        from grader.checks.runner import Runner
        from grader.verdict.variants import VariantSource

        self._course = course
        self._source = source
        self._strict = strict
        self._fingerprinter = Fingerprinter(source)
        self._runners: dict[str, Runner] = {}
        self._keys: dict[str, Key] = {}
        self._variants: dict[str, VariantSource] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close everything that was opened for the exercises. The worker source stays open."""
        self._fingerprinter.close()
        for runner in self._runners.values():
            runner.close()

    def __call__(
        self, exercise_id: str, submission: Submission, file: str, seed: int, *, dtype: str = "float32"
    ) -> Verdict:
        """The verdict; `file` is what it calls the submission, `dtype` torch's default dtype meanwhile.

        `SpecError` for a wrong description, `BrokenExerciseError` when the reference fails, `WorkerKilledError` where
        its worker was killed from outside, and killed once more when it was judged again.
        """
        try:
            return self._judge(exercise_id, submission, file, seed, dtype)
        except WorkerKilledError:
            return self._judge(exercise_id, submission, file, seed, dtype)

    def _judge(self, exercise_id: str, submission: Submission, file: str, seed: int, dtype: str) -> Verdict:
        exercise, key = self.open(exercise_id)
        runner, variants = self._runners[exercise_id], self._variants[exercise_id]
        seed = variants.seed_for(seed)
        examination = runner.examine(submission, seed, dtype=dtype)
        if examination.unloadable:
            return make_verdict(exercise, key, examination, file, seed)

        def examine_variant(name: str, checks: set[str]) -> Examination:
            return variants.examine(name, checks, seed, dtype)

        matching = matching_variants(exercise, key, examination)
        same = variants.indistinguishable(submission, examination, matching, seed)
        is_comparable = 0 < len(matching) <= MOST_MATCHING_VARIANTS and "" not in matching  # "" is right: nothing fails
        if is_comparable and not variants.is_one_of(submission, matching):
            failed = {outcome.check for outcome in examination.outcomes if outcome.status is Status.FAILED}
            examination = compare_deviations(examination, [examine_variant(name, failed) for name in matching])
        examination = find_partial_fixes(exercise, key, examination, examine_variant)
        examination = structs.replace(examination, identified_defects=_identified_defects(exercise, same))
        return make_verdict(exercise, key, examination, file, seed)

    def prepare(self, exercise_id: str) -> None:
        """Have the last worker cleared away, and the next one started, while nobody waits for it."""
        self._source.settle()
        if exercise_id in self._keys:
            self._source.start_ahead(self._runners[exercise_id].exercise.limits)

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        return self._fingerprinter.fingerprint(submission)

    def open(self, exercise_id: str) -> tuple[Exercise, Key]:
        """The exercise and its key, the reference having been examined."""
        if exercise_id not in self._runners:
            from grader.checks.runner import Runner
            from grader.verdict.variants import open_variants

            exercise = load_exercise(self._course.description(exercise_id))
            runner = Runner(self._course, exercise, self._source, strict=self._strict)
            self._runners[exercise_id] = runner
            self._variants[exercise_id] = open_variants(self._course, runner, self.fingerprint)
        runner = self._runners[exercise_id]
        if exercise_id not in self._keys:
            self._keys[exercise_id] = self._variants[exercise_id].key()
        return runner.exercise, self._keys[exercise_id]


def _identified_defects(exercise: Exercise, variants: list[str]) -> dict[str, bool]:
    """Return whether each defect is present, for the defects that all or none of the variants have."""
    found = {each.id: {has_defect(name, each.id) for name in variants} for each in exercise.defects}
    return {name: is_there.pop() for name, is_there in found.items() if len(is_there) == 1}
