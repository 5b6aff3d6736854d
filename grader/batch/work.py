"""What is done beside an examiner, wherever that runs: functions of plain records that give plain records back."""

import threading
from functools import partial
from importlib import metadata
from pathlib import Path

from msgspec import Struct

from grader.course.paths import Course
from grader.errors import BrokenExerciseError, KitError, OpenHostError, SpecError
from grader.examiner.digest import exercise_digest, kit_version
from grader.gradebook import Versions
from grader.service.pool import ExaminerPool, PoolClient
from grader.submission import Submission, Unreadable, read_submission
from grader.verdict.verdict import Verdict

DIGEST_LENGTH = 12


def versions(course: Course, exercise_id: str) -> Versions:
    """The versions in force for an exercise."""
    return Versions(kit_version(), metadata.version("torch"), exercise_digest(course, exercise_id)[:DIGEST_LENGTH])


class Watchword:
    """Changes with an exercise's files, at the cost of a look at their names, sizes and times."""

    def __init__(self, course: Course, exercise_id: str) -> None:
        self._look = partial(course.stamps, exercise_id)
        self._seen = self._look()

    def has_changed(self) -> bool:
        """Whether a file was changed, added or taken away since this was made."""
        return self._look() != self._seen


SEED_OF_TRIAL = 1


class Place(Struct, frozen=True):
    """Where the course lies on the machine that judges, and whether open files or an open network forbid judging."""

    root: str
    is_strict: bool


class Job(Struct, frozen=True):
    """One submission to judge; `file` is what the verdict calls it."""

    exercise: str
    submission: Submission
    file: str
    seed: int


class Judged(Struct, frozen=True):
    """The verdict; without one, why there is none, and whether the exercise or an open host is at fault."""

    verdict: Verdict | None
    error: str = ""
    is_exercise_broken: bool = False
    is_host_open: bool = False


_pool = ExaminerPool()
_clients: dict[Place, PoolClient] = {}
_lock = threading.Lock()


def judge(place: Place, job: Job) -> Judged:
    """The verdict of an examiner here, which stays for the next submission."""
    try:
        return Judged(_client(place).judge(job.exercise, job.submission, job.file, job.seed))
    except (BrokenExerciseError, SpecError) as error:
        return Judged(None, str(error), is_exercise_broken=True)
    except OpenHostError as error:
        return Judged(None, str(error), is_host_open=True)
    except KitError as error:
        return Judged(None, str(error))


def fingerprint(place: Place, submission: Submission) -> str:
    """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
    try:
        return _client(place).fingerprint(submission)
    except KitError:
        return ""  # judging it will say what is wrong


def trial(place: Place, exercise_id: str) -> Judged:
    """The verdict on a starter: whether submissions can be judged here at all."""
    course = Course(Path(place.root))
    path = course.pristine(course.editable_files(exercise_id)[0])
    starter = read_submission(path, path.name)
    if isinstance(starter, Unreadable):
        return Judged(None, starter.reason, is_exercise_broken=True)
    return judge(place, Job(exercise_id, starter, path.name, SEED_OF_TRIAL))


def cancel_examiners() -> None:
    """Stop every examiner of this process at once, whatever it is judging; nothing more is judged for these places."""
    for client in _clients.values():
        client.cancel()


def close_examiners() -> None:
    """End every examiner of this process; none may be judging."""
    _clients.clear()
    _pool.close()


def _client(place: Place) -> PoolClient:
    with _lock:
        if place not in _clients:
            _clients[place] = PoolClient(_pool, Course(Path(place.root)), strict=place.is_strict)
        return _clients[place]
