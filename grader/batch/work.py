"""What is done beside an examiner, wherever that runs: functions of plain records that give plain records back."""

import threading
from pathlib import Path

from msgspec import Struct

from grader.course import Course
from grader.errors import BrokenExerciseError, KitError, OpenHostError, SpecError
from grader.kept import KeptExaminer
from grader.submission import Submission, Unreadable, read_submission
from grader.verdict import Verdict

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


_here = threading.local()
_examiners: list[KeptExaminer] = []


def judge(place: Place, job: Job) -> Judged:
    """The verdict of this thread's own examiner, which stays for the next submission."""
    try:
        return Judged(_examiner(place).judge(job.exercise, job.submission, job.file, job.seed))
    except (BrokenExerciseError, SpecError) as error:
        return Judged(None, str(error), is_exercise_broken=True)
    except OpenHostError as error:
        return Judged(None, str(error), is_host_open=True)
    except KitError as error:
        return Judged(None, str(error))


def fingerprint(place: Place, submission: Submission) -> str:
    """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
    try:
        return _examiner(place).fingerprint(submission)
    except KitError:
        return ""  # judging it will say what is wrong


def trial(place: Place, exercise_id: str) -> Judged:
    """The verdict on a starter: whether submissions can be judged here at all."""
    course = Course(Path(place.root))
    path = course.pristine(course.twins(exercise_id)[0])
    starter = read_submission(path, path.name)
    if isinstance(starter, Unreadable):
        return Judged(None, starter.reason, is_exercise_broken=True)
    return judge(place, Job(exercise_id, starter, path.name, SEED_OF_TRIAL))


def let_examiners_go() -> None:
    """Stop every examiner of this process at once, whatever it is judging."""
    for examiner in _examiners:
        examiner.let_go()


def close_examiners() -> None:
    """End every examiner of this process; none may be judging."""
    while _examiners:
        _examiners.pop().close()


def _examiner(place: Place) -> KeptExaminer:
    held: tuple[Place, KeptExaminer] | None = getattr(_here, "held", None)
    if held is None or held[0] != place or held[1] not in _examiners:
        held = place, KeptExaminer(Course(Path(place.root)), strict=place.is_strict)
        _here.held = held
        _examiners.append(held[1])
    return held[1]
