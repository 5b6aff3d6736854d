"""The tasks of a batch: loading and deduplicating submissions, and judging them with examiners of this machine."""

import hashlib
import hmac
import os
import threading
from pathlib import Path

from msgspec import Struct

from grader.classroom.gradebook import Gradebook, SubmissionRecord, Versions, WorkKind
from grader.classroom.gradebook.rows import written_time
from grader.classroom.layouts.files import SubmissionFiles, storable
from grader.classroom.work import WORK, CourseJudges, Task, TaskResult
from grader.errors import BrokenExerciseError, KitError, OpenHostError, SpecError
from grader.processes.pool import ExaminerPool
from grader.spec.paths import Course
from grader.spec.seeds import SEEDS
from grader.submission import Submission, Unreadable, read_submission
from grader.submission.choice import SourceFile, choose_between, read_source
from grader.submission.reading import read_text

GONE = Unreadable(reason="it was deleted after the folder was listed; put it back, or run the batch without it")


class SubmissionLoader:
    """Read submissions below a folder."""

    def __init__(self, course: Course, root: Path) -> None:
        self._root = root
        self._course = course

    def load(self, files: SubmissionFiles) -> tuple[SubmissionRecord, Submission | Unreadable]:
        """Return a submission and its record. If there are a module and a notebook, choose the file that counts.

        The submission is `GONE` if the file was deleted since the folder was listed.
        """
        if not files.files:
            source = read_text(files.source, WORK[files.kind].file_name(self._course, files.exercise))
            return _record(files, files.place, source, files.submitted_at), source
        root = Path(files.root) if files.root else self._root
        read = [_read(root, file) for file in files.files]
        existing = [file for file in read if not file.is_missing()] or read[:1]
        chosen, remark = existing[0], ""
        if len(existing) > 1:
            chosen, other, reason = choose_between(self._course, files.exercise, *existing)
            remark = f"{storable(other.path.name)} was handed in too: {reason}"
        submission = GONE if chosen.is_missing() else chosen.read
        location = files.prefix + storable(os.fspath(chosen.path.relative_to(root)))
        written = written_time(chosen.modified / 1e9) if chosen.modified else ""
        return _record(files, location, submission, files.submitted_at or written, remark), submission


def _read(root: Path, file: str) -> SourceFile:
    path = root / file
    return read_source(path, storable(path.name), inside=root)


def _record(
    files: SubmissionFiles, file: str, submission: Submission | Unreadable, submitted_at: str, remark: str = ""
) -> SubmissionRecord:
    digest = _source_digest(submission, files.kind)
    return SubmissionRecord(
        student=files.student,
        exercise=files.exercise,
        file=file,
        digest=digest,
        remark=remark,
        submitted_at=submitted_at,
        kind=files.kind,
    )


def _source_digest(submission: Submission | Unreadable, kind: WorkKind) -> str:
    """Return a digest that is equal for sources with the same verdict: the same chunks under the same labels."""
    digest = hashlib.sha256(WORK[kind].digest_prefix)
    if isinstance(submission, Unreadable):
        digest.update(b"unreadable\0" + submission.reason.encode("utf-8", "backslashreplace"))
    else:
        for chunk in submission.chunks:
            digest.update(f"{chunk.label}\0{chunk.text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def seed_of_attempt(key: str, seed: int, kind: WorkKind, attempt: int) -> int:
    """Return the seed of a student's submission: each resubmission has another seed, equal for the whole class.

    Only the seed of a module's first submission can be derived without the gradebook's key.
    """
    if WORK[kind].has_known_seed and not attempt:
        return seed
    digest = hmac.digest(key.encode(), f"{seed}/{kind}/{attempt}".encode(), "sha256")
    return int.from_bytes(digest[:8]) % SEEDS


DedupeKey = tuple[str, Versions, int]


class Deduplicator:
    """Shares verdicts between equal sources. Similar sources may behave differently, because code can read its line
    numbers.

    The gradebook has the graded submissions, and this object those that are being graded. Which submissions share a
    verdict depends only on their order, not on which of them is judged first.
    """

    def __init__(self, gradebook: Gradebook, *, accepts_open: bool) -> None:
        self._gradebook = gradebook
        self._accepts_open = accepts_open
        self._leaders: dict[DedupeKey, Task] = {}
        self._followers: dict[Task, list[Task]] = {}
        self.waiting = 0
        """The number of tasks that wait for an equal one."""

    def shared(self, task: Task) -> int | None:
        """Return the verdict of an equal submission, or None if there is none yet."""
        return self._gradebook.find_equal(task.record, task.versions, task.seed, accepts_open=self._accepts_open)

    def follows(self, task: Task) -> bool:
        """Return whether the task waits for an equal task. If it does not, equal tasks wait for it until `settle`."""
        leader = self._leaders.setdefault(_key(task), task)
        if leader is not task:
            self._followers[leader].append(task)
            self.waiting += 1
            return True
        self._followers[task] = []
        return False

    def settle(self, task: Task) -> list[Task]:
        """Return the tasks that waited for this task, which has ended."""
        self._leaders.pop(_key(task), None)
        followers = self._followers.pop(task, [])
        self.waiting -= len(followers)
        return followers


def _key(task: Task) -> DedupeKey:
    """Return what equal tasks have in common."""
    return task.record.digest, task.versions, task.seed


SEED_OF_STARTER = 1


class CourseLocation(Struct, frozen=True, kw_only=True):
    """The course's folder on the machine that judges. `is_strict` forbids judging if files or the network are open."""

    root: str
    is_strict: bool


_pool = ExaminerPool()
_judges: dict[CourseLocation, CourseJudges] = {}
_lock = threading.Lock()


def judge(location: CourseLocation, task: Task) -> TaskResult:
    """Judge a submission with an examiner of this machine, which then waits for the next one."""
    try:
        return WORK[task.record.kind].judge(_judges_of(location), task)
    except (BrokenExerciseError, SpecError) as error:
        return TaskResult(error=str(error), is_exercise_broken=True)
    except OpenHostError as error:
        return TaskResult(error=str(error), is_host_open=True)
    except KitError as error:
        return TaskResult(error=str(error))


def starter_task(course: Course, exercise_id: str, versions: Versions) -> Task | TaskResult:
    """Return the task of judging an exercise's starter, by which an engine shows that it can judge at all.

    If the starter is unreadable, return the result.
    """
    path = course.pristine(course.editable_files(exercise_id)[0])
    starter = read_submission(path, path.name)
    if isinstance(starter, Unreadable):
        reason = f"its starter {course.shown(path)} cannot be judged: {starter.reason}"
        return TaskResult(error=reason, is_exercise_broken=True)
    record = SubmissionRecord(student="", exercise=exercise_id, file=path.name, digest="")
    return Task(record=record, versions=versions, submission=starter, seed=SEED_OF_STARTER)


def cancel_examiners() -> None:
    """Cancel every judgement of this process and end the examiners. Their locations accept no further tasks."""
    for judges in list(_judges.values()):
        judges.cancel()


def close_examiners() -> None:
    """End every examiner of this process. Call it only when none is judging."""
    _judges.clear()
    _pool.close()


def _judges_of(location: CourseLocation) -> CourseJudges:
    with _lock:
        if location not in _judges:
            course = Course(root=Path(location.root))
            _judges[location] = CourseJudges(_pool, course, strict=location.is_strict)
        return _judges[location]
