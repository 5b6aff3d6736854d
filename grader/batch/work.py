"""What is done beside an examiner, wherever that runs: functions of plain records that give plain records back."""

import threading
from pathlib import Path

from msgspec import Struct

from grader.course import Course
from grader.errors import BrokenExerciseError, KitError, SpecError
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
    """The verdict; without one, why there is none, and whether the exercise is at fault rather than the kit."""

    verdict: Verdict | None
    error: str = ""
    is_exercise_broken: bool = False


class Examiner(KeptExaminer):
    """A kept examiner that can be ended for good while it is at work."""

    def __init__(self, place: Place) -> None:
        super().__init__(Course(Path(place.root)), strict=place.is_strict)
        self.is_over = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the process, unless the batch has ended: who waits for a verdict then gets a `KitError`."""
        with self._lock:
            if self.is_over:
                raise KitError("the batch has ended")
            super().start()

    def kill(self) -> None:
        """Stop at once, whatever is being judged, and for good."""
        with self._lock:
            self.is_over = True
            if self._process is not None:
                self._process.kill()


_here = threading.local()
_examiners: list[Examiner] = []


def judge(place: Place, job: Job) -> Judged:
    """The verdict of this thread's own examiner, which stays for the next submission."""
    try:
        return Judged(_examiner(place).judge(job.exercise, job.submission, job.file, job.seed))
    except (BrokenExerciseError, SpecError) as error:
        return Judged(None, str(error), is_exercise_broken=True)
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


def kill_examiners() -> None:
    """Stop every examiner of this process at once, whatever it is judging."""
    for examiner in _examiners:
        examiner.kill()


def close_examiners() -> None:
    """End every examiner of this process; none may be judging."""
    while _examiners:
        examiner = _examiners.pop()
        examiner.is_over = True
        examiner.close()


def _examiner(place: Place) -> Examiner:
    held: tuple[Place, Examiner] | None = getattr(_here, "held", None)
    if held is None or held[0] != place or held[1].is_over:
        if held is not None:
            held[1].close()
        held = place, Examiner(place)
        _here.held = held
        _examiners.append(held[1])
    return held[1]
