"""Usual tests, which miss defects: a proof runs those that a description names, and they must pass on the starter."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.author.proof import Step
from grader.checks.context import Context
from grader.checks.failure import Failure
from grader.checks.proxies import MisfitError, SubjectFactory
from grader.checks.reference import Reference
from grader.checks.reference_cache import ReferenceCache
from grader.checks.session import Session, SubjectError
from grader.checks.size_cases import size_cases_of
from grader.checks.walk import SizeCaseFailedError, walk
from grader.processes.workers import WorkerSource
from grader.spec.exercise import Exercise
from grader.spec.fragments import put_back
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.properties import Property
from grader.submission import submission_from_text

SEED = 7


def run_usual_tests(source: WorkerSource, root: Path, exercise_id: str) -> list[Step]:
    """Prove that each test in `missed_by` passes on the starter and with its defect alone."""
    course = Course(root=root)
    exercise = load_exercise(course.description(exercise_id))
    reference = course.reference_text(exercise_id)
    starter = put_back(reference, exercise.defects)
    problems = []
    count = 0
    with tester(source, course, exercise, starter) as fails_starter:
        for defect in exercise.defects:
            with tester(source, course, exercise, put_back(reference, [defect])) as fails_alone:
                for index, usual in enumerate(defect.missed_by):
                    count += 1
                    for variant, fails in (("the starter", fails_starter), (f"{defect.id} alone", fails_alone)):
                        failure = fails(usual.test)
                        if failure:
                            name = f"{defect.id}: missed_by[{index}]: {usual.test.id or type(usual.test).__name__}"
                            problems.append(f"{name} detects the defect: with {variant}, {failure}; remove this entry")
    return [Step(name="usual tests", figures=str(count), problems=problems)]


@contextlib.contextmanager
def tester(source: WorkerSource, course: Course, exercise: Exercise, text: str) -> Iterator[Callable[[Property], str]]:
    """Yield a function that runs a test on a source and returns its failure, or nothing; one worker runs all tests."""
    session = Session(source, exercise, submission_from_text(text))

    def failure_of(test: Property) -> str:
        reference = ReferenceCache(Reference(course.reference(exercise.id), exercise))
        session.renew()
        try:
            walk(
                test,
                Context(subject=SubjectFactory(session), reference=reference, exercise=exercise),
                size_cases_of(test, exercise, SEED),
            )
        except SizeCaseFailedError as failed:
            if isinstance(failed.error, Failure | SubjectError | MisfitError):
                return str(failed)
            raise
        return ""

    try:
        yield failure_of
    finally:
        session.close()
