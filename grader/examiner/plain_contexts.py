"""Contexts for checks that run under plain pytest."""

from pathlib import Path

from grader.course.loading import load_exercise
from grader.course.paths import find_course
from grader.errors import UsageError
from grader.examiner.context import Context
from grader.examiner.plugin import Contexts
from grader.examiner.proxies import Subject
from grader.examiner.reference import Reference
from grader.examiner.reference_cache import ReferenceCache
from grader.examiner.session import Session
from grader.examiner.worker_source import open_worker_source
from grader.submission import Submission, read_submission


class PlainContexts(Contexts):
    """Examines one file; without one, each exercise's own reference."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self._seed = seed
        self._path = path
        self._source = open_worker_source()
        self._contexts: dict[str, Context] = {}
        self._sessions: dict[str, Session] = {}

    def context(self, exercise_id: str) -> Context:
        if exercise_id not in self._contexts:
            self._contexts[exercise_id] = self._new_context(exercise_id)
        self._sessions[exercise_id].renew()
        return self._contexts[exercise_id]

    def seed_of(self, exercise_id: str) -> int:  # noqa: ARG002 - one seed for all
        return self._seed

    def close(self) -> None:
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
        reference = ReferenceCache(Reference(course.reference(exercise_id), exercise.interface))
        return Context(Subject(session), reference, exercise)
