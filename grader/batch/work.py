"""What an engine runs, here or on a cluster: functions of serializable records, beside an examiner process."""

import threading
from importlib import metadata
from pathlib import Path

from msgspec import Struct

from grader.batch.tasks import Task, TaskResult
from grader.course.paths import Course
from grader.errors import BrokenExerciseError, KitError, OpenHostError, SpecError
from grader.examiner.digest import exercise_digest, kit_version
from grader.gradebook import SubmissionRecord, Versions
from grader.service.pool import ExaminerPool, PoolClient
from grader.submission import Submission, Unreadable, read_submission

DIGEST_LENGTH = 12


def versions(course: Course, exercise_id: str) -> Versions:
    """The versions in force for an exercise."""
    return Versions(kit_version(), metadata.version("torch"), exercise_digest(course, exercise_id)[:DIGEST_LENGTH])


SEED_OF_TRIAL = 1


class Place(Struct, frozen=True):
    """Where the course lies on the machine that judges, and whether open files or an open network forbid judging."""

    root: str
    is_strict: bool


_pool = ExaminerPool()
_clients: dict[Place, PoolClient] = {}
_lock = threading.Lock()


def judge(place: Place, task: Task) -> TaskResult:
    """The verdict of an examiner here, which stays for the next submission."""
    try:
        return TaskResult(_client(place).judge(task.record.exercise, task.submission, task.record.file, task.seed))
    except (BrokenExerciseError, SpecError) as error:
        return TaskResult(None, str(error), is_exercise_broken=True)
    except OpenHostError as error:
        return TaskResult(None, str(error), is_host_open=True)
    except KitError as error:
        return TaskResult(None, str(error))


def fingerprint(place: Place, submission: Submission) -> str:
    """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
    try:
        return _client(place).fingerprint(submission)
    except KitError:
        return ""  # judging it will say what is wrong


def trial(place: Place, exercise_id: str) -> TaskResult:
    """The verdict on a starter: whether submissions can be judged here at all."""
    course = Course(Path(place.root))
    path = course.pristine(course.editable_files(exercise_id)[0])
    starter = read_submission(path, path.name)
    if isinstance(starter, Unreadable):
        return TaskResult(None, starter.reason, is_exercise_broken=True)
    record = SubmissionRecord("", exercise_id, path.name, "")
    return judge(place, Task(record, versions(course, exercise_id), starter, SEED_OF_TRIAL))


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
