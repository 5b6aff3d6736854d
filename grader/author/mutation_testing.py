"""Run the mutants of a reference through the exercise's checks, in a process of the pool."""

from pathlib import Path

from grader.author.differential import find_differences
from grader.author.mutants import Mutant, is_same_in_other_words
from grader.author.proof import MutantStatus
from grader.checks.outcome import Examination, Status
from grader.checks.runner import Runner
from grader.processes.workers import WorkerSource
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import submission_from_text
from grader.verdict.key_making import has_key

SEED = 7


def try_mutants(source: WorkerSource, root: Path, exercise_id: str, mutants: list[Mutant]) -> list[MutantStatus]:
    """Return each mutant's status; its checks stop at the first failure.

    A survivor that looks like a rewording of the reference, and computes the same values, is equivalent.
    """
    course = Course(root=root)
    reference = course.reference_text(exercise_id)
    with Runner(course, load_exercise(course.description(exercise_id)), source) as runner:
        only: list[str] | None = None
        if not has_key(course, exercise_id):  # checks that fail on the reference say nothing about its mutants
            outcomes = runner.examine(submission_from_text(reference), SEED).outcomes
            only = [outcome.check for outcome in outcomes if outcome.status is Status.PASSED]
        statuses = [
            _status(runner.examine(submission_from_text(mutant.text), SEED, stops_at_failure=True, only=only))
            for mutant in mutants
        ]
    similar = [
        mutant.text
        for mutant, status in zip(mutants, statuses, strict=True)
        if status is MutantStatus.SURVIVED and is_same_in_other_words(reference, mutant)
    ]
    differences = find_differences(source, root, exercise_id, similar) if similar else []
    equivalent = {text for text, difference in zip(similar, differences, strict=True) if not difference}
    return [
        MutantStatus.EQUIVALENT if mutant.text in equivalent else status
        for mutant, status in zip(mutants, statuses, strict=True)
    ]


def _status(examination: Examination) -> MutantStatus:
    statuses = {outcome.status for outcome in examination.outcomes}
    if examination.unloadable is not None or statuses & {Status.CRASHED, Status.TIMED_OUT, Status.NOT_RUN}:
        return MutantStatus.CRASH
    is_noticed = Status.FAILED in statuses or any(outcome.advice for outcome in examination.outcomes)
    return MutantStatus.VALUE if is_noticed else MutantStatus.SURVIVED
