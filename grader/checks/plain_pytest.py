"""Subjects for `pytest tests/hidden`: one file, or the reference of each exercise.

The total time starts again with each check.
"""

from pathlib import Path

from grader.checks.context import Context
from grader.checks.proxies import SubjectFactory
from grader.checks.reference import Reference
from grader.checks.reference_cache import ReferenceCache
from grader.checks.session import Session
from grader.errors import UsageError
from grader.processes.workers import WorkerSource
from grader.spec.loading import load_exercise
from grader.spec.paths import find_course
from grader.submission import Submission, read_submission


class PlainExamined:
    """The subjects and references of one run of plain pytest. It owns the worker source."""

    def __init__(self, source: WorkerSource, path: Path | None, seed: int) -> None:
        self._seed = seed
        self._path = path
        self._source = source
        self._contexts: dict[str, Context] = {}
        self._sessions: dict[str, Session] = {}

    def context(self, exercise_id: str) -> Context:
        """Return the subject and the reference of an exercise, with new deadlines."""
        if exercise_id not in self._contexts:
            self._contexts[exercise_id] = self._new_context(exercise_id)
        self._sessions[exercise_id].renew()
        return self._contexts[exercise_id]

    def seed(self, _exercise_id: str) -> int:
        """Return the seed of the inputs."""
        return self._seed

    def close(self) -> None:
        """End all workers."""
        for session in self._sessions.values():
            session.close()
        self._source.close()

    def _new_context(self, exercise_id: str) -> Context:
        course = find_course(Path.cwd())
        exercise = load_exercise(course.description(exercise_id))
        path = self._path or course.reference(exercise_id)
        submission = read_submission(path, path.name)
        if not isinstance(submission, Submission):
            raise UsageError(submission.reason)
        session = self._sessions[exercise_id] = Session(self._source, exercise, submission)
        reference = ReferenceCache(Reference(course.reference(exercise_id), exercise))
        return Context(subject=SubjectFactory(session), reference=reference, exercise=exercise)
