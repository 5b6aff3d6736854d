"""Benches for checks that run under plain pytest."""

from pathlib import Path

from grader.course import find_course
from grader.errors import UsageError
from grader.examiner.plugin import Desk
from grader.examiner.properties import Bench
from grader.examiner.reference import Reference
from grader.examiner.rehearsal import Rehearsal
from grader.examiner.session import Session
from grader.examiner.subject import Subject
from grader.examiner.torch_import import assert_single_thread, import_torch
from grader.examiner.workers import Nursery
from grader.exercise import load_exercise
from grader.submission import Submission, read_submission


class PlainDesk(Desk):
    """Examines one file; without one, each exercise's own reference."""

    def __init__(self, path: Path | None, seed: int) -> None:
        import_torch()
        assert_single_thread()
        self._seed = seed
        self._path = path
        self._nursery = Nursery()
        self._benches: dict[str, Bench] = {}
        self._sessions: dict[str, Session] = {}

    def bench(self, exercise_id: str) -> Bench:
        if exercise_id not in self._benches:
            self._benches[exercise_id] = self._new_bench(exercise_id)
        self._sessions[exercise_id].renew()
        return self._benches[exercise_id]

    def seed_of(self, exercise_id: str) -> int:  # noqa: ARG002 - one seed for all
        return self._seed

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._nursery.close()

    def _new_bench(self, exercise_id: str) -> Bench:
        course = find_course(Path.cwd())
        exercise = load_exercise(course.description(exercise_id))
        path = self._path or course.reference(exercise_id)
        submission = read_submission(path, path.name)
        if not isinstance(submission, Submission):
            raise UsageError(submission.reason)
        session = self._sessions[exercise_id] = Session(self._nursery, exercise, submission)
        reference = Rehearsal(Reference(course.reference(exercise_id), exercise.interface.class_name))
        return Bench(Subject(session), reference, exercise)
