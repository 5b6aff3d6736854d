"""Judge a submission: the one path from a submission to its verdict."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Self

from msgspec import structs

from grader.checks.outcome import Examination, Status
from grader.checks.tape import FailedCheck
from grader.errors import WorkerKilledError
from grader.processes.fingerprinter import Fingerprinter
from grader.processes.memory import free_memory
from grader.processes.worker_source import CAN_FORK, open_worker_source
from grader.processes.workers import WorkerSource
from grader.sandbox.protocol import Request
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission
from grader.verdict.attribution import Clues, VariantComparison
from grader.verdict.key import REFERENCE, Key, has_defect
from grader.verdict.matching import compare_deviations, find_partial_fixes
from grader.verdict.near_misses import find_near_miss
from grader.verdict.verdict import Verdict, make_verdict, not_gradable

MAX_MATCHING_VARIANTS = 4
"""The most matching variants whose deviations are compared. More of them match only if a crash hides the values."""


@contextmanager
def open_judge(
    course: Course, *, spawn: bool = not CAN_FORK, strict: bool = False, first: str = "", for_many: bool = False
) -> Iterator["Judge"]:
    """Open a judge with its own worker source, before any description, check or reference is opened.

    Raise what `open_worker_source` raises. `first` names the exercise for which a worker is started ahead. A judge
    `for_many` submissions starts a little more slowly and judges each submission faster.
    """
    with closing(open_worker_source(course.secret_folders(), spawn=spawn, for_many=for_many)) as source:
        if first:
            source.start_ahead(load_exercise(course.description(first)).limits)  # while the checks are imported
        with Judge(course, source, strict=strict) as judge:
            yield judge


class Judge:
    """The only path from a submission to its verdict. Opens each exercise when it is first needed.

    The caller passes no file that `refuse` refuses.
    """

    def __init__(self, course: Course, source: WorkerSource, *, strict: bool = False) -> None:
        # late imports: workers are forked before this process imports the checks
        from grader.checks.runner import Runner
        from grader.verdict.variants import VariantSource

        self._course = course
        self._source = source
        self._strict = strict
        self._fingerprinter = Fingerprinter(source)
        self._runners: dict[str, Runner] = {}
        self._keys: dict[str, Key] = {}
        self._variants: dict[str, VariantSource] = {}
        self._matching: list[str] = []
        """The variants that match the last submission, or some of them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the runners and the fingerprinter. The worker source stays open."""
        self._fingerprinter.close()
        for runner in self._runners.values():
            runner.close()

    def __call__(
        self, exercise_id: str, submission: Submission, file: str, seed: int, *, dtype: str = "float32"
    ) -> Verdict:
        """Return the verdict on a submission.

        `file` names the submission in the verdict; `dtype` is torch's default dtype during the checks. Raises
        `SpecError` for a wrong description, `BrokenExerciseError` if the reference fails, and `WorkerKilledError` if
        something outside the kit killed the worker twice.
        """
        try:
            return self._judge(exercise_id, submission, file, seed, dtype)
        except WorkerKilledError:
            return self._judge(exercise_id, submission, file, seed, dtype)

    def _judge(self, exercise_id: str, submission: Submission, file: str, seed: int, dtype: str) -> Verdict:
        """Examine the submission, add what a comparison with variants shows, and make the verdict.

        1. Run the checks.
        2. Find the matching variants by the signatures of the failures.
        3. If few variants match, compare deviations with theirs: another fault may fail in the same way.
        4. Look for partial fixes among the failures that no matching variant explains.
        5. Recognize a near miss, for its hint.
        """
        self._matching = []
        exercise, key = self.open(exercise_id)
        runner, variants = self._runners[exercise_id], self._variants[exercise_id]
        seed = variants.seed_for(seed)
        examination = runner.examine(submission, seed, dtype=dtype)
        if examination.unloadable:
            return not_gradable(exercise, file, seed, examination.unloadable, examination)

        def examine_variant(name: str, checks: set[str]) -> Examination:
            return variants.examine(name, checks, seed, dtype)

        matching = VariantComparison(exercise, key, examination).matching_variants
        self._matching = matching[:MAX_MATCHING_VARIANTS]
        indistinguishable = variants.indistinguishable(submission, examination, matching, seed)
        is_comparable = 0 < len(matching) <= MAX_MATCHING_VARIANTS and REFERENCE not in matching
        clues = Clues(
            kept_fixes=variants.kept_fixes(submission),
            identified_defects=_identified_defects(exercise, indistinguishable),
        )
        if is_comparable and not variants.is_one_of(submission, matching):
            failed = {outcome.check for outcome in examination.outcomes if outcome.status is Status.FAILED}
            clues = compare_deviations(clues, examination, [examine_variant(name, failed) for name in matching])
        points = examination.failure_points

        def examine_at_points(name: str, checks: set[str]) -> Examination:
            return variants.examine_at(name, {check: points[check] for check in checks}, seed, dtype)

        comparison = VariantComparison(exercise, key, examination, clues)
        if partial_fixes := find_partial_fixes(comparison, examine_at_points):
            clues = structs.replace(clues, partial_fixes=partial_fixes)
            comparison = VariantComparison(exercise, key, examination, clues)
        near_miss = find_near_miss(comparison, examine_variant)
        return make_verdict(comparison, file, seed, near_miss=near_miss)

    def record(self, exercise_id: str, submission: Submission, seed: int, check: str) -> FailedCheck | None:
        """Run a check that failed once more, and return the requests of its failing size case."""
        self.open(exercise_id)
        return self._runners[exercise_id].record(submission, seed, check)

    def repeat(
        self,
        exercise_id: str,
        submission: Submission,
        requests: Sequence[Request],
        probe: Callable[..., Any],
        **options: Any,
    ) -> Any:
        """Repeat recorded requests over a submission with a probe; see `Runner.repeat`."""
        self.open(exercise_id)
        return self._runners[exercise_id].repeat(submission, requests, probe, **options)

    def forget(self) -> None:
        """Close every exercise; it is opened anew when it is needed."""
        for runner in self._runners.values():
            runner.close()
        self._runners, self._keys, self._variants = {}, {}, {}
        free_memory()

    def is_alive(self) -> bool:
        """Return whether workers can be started."""
        return self._source.is_alive()

    def prepare(self, exercise_id: str) -> None:
        """Clean up after the last worker and start the next one, between two requests."""
        self._source.settle()
        if exercise_id in self._keys:
            self._source.start_ahead(self._runners[exercise_id].exercise.limits)

    def work_ahead(self, exercise_id: str, seed: int, is_idle: Callable[[], bool]) -> None:
        """Examine the reference, and the variants that match the last submission, at the seed of the next verdict.

        Stop once the process is no longer idle.
        """
        if exercise_id in self._keys:
            names = [REFERENCE, *(name for name in self._matching if name != REFERENCE)]
            self._variants[exercise_id].examine_ahead(names, seed, is_idle)

    def fingerprint(self, submission: Submission) -> str:
        """Return the same text for sources that differ only in layout and comments; empty without a syntax tree."""
        return self._fingerprinter.fingerprint(submission)

    def open(self, exercise_id: str) -> tuple[Exercise, Key]:
        """Return the exercise and its key; examine the reference first. Raises what `__call__` raises."""
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
    presence = {each.id: {has_defect(name, each.id) for name in variants} for each in exercise.defects}
    return {defect: values.pop() for defect, values in presence.items() if len(values) == 1}
