"""Benches for checks that run under plain pytest."""

from pathlib import Path

from grader.course import find_course
from grader.errors import UsageError
from grader.examiner.plugin import Desk
from grader.examiner.properties import Bench
from grader.examiner.reference import Reference
from grader.examiner.session import Session
from grader.examiner.standin import Maker
from grader.examiner.subject import Subject
from grader.examiner.torch_import import assert_single_thread, import_torch
from grader.examiner.workers import Nursery
from grader.exercise import load_exercise
from grader.submission import Submission, read_submission


class PlainDesk(Desk):
    """Examines one file, or each exercise's own reference."""

    def __init__(self, path: Path | None, nursery: Nursery | None, seed: int) -> None:
        self.seed = seed
        self._path = path
        self._nursery = nursery
        self._benches: dict[str, Bench] = {}
        self._sessions: list[Session] = []

    def bench(self, exercise_id: str) -> Bench:
        if exercise_id not in self._benches:
            self._benches[exercise_id] = self._new_bench(exercise_id)
        for session in self._sessions:
            session.begin_check()
        return self._benches[exercise_id]

    def close(self) -> None:
        for session in self._sessions:
            session.close()
        if self._nursery is not None:
            self._nursery.close()

    def _new_bench(self, exercise_id: str) -> Bench:
        course = find_course(Path.cwd())
        exercise = load_exercise(course.description(exercise_id))
        reference = Reference(course.reference(exercise_id), exercise.interface.class_name)
        subject: Maker = reference
        if self._path is not None and self._nursery is not None:
            submission = read_submission(self._path, str(self._path))
            if not isinstance(submission, Submission):
                raise UsageError(submission.reason)
            self._sessions.append(Session(self._nursery, exercise, submission))
            subject = Subject(self._sessions[-1])
        return Bench(subject, reference, exercise)


def open_desk(path: Path | None, seed: int) -> PlainDesk:
    """A desk; with a path, its nursery is forked here, before any check is collected."""
    if path is None:
        return PlainDesk(None, None, seed)
    import_torch()
    assert_single_thread()
    return PlainDesk(path, Nursery(), seed)
