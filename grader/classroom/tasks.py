"""Tasks of a batch: submissions with their seeds, deduplicated, and the functions that an engine runs on them."""

import hashlib
import hmac
import os
import threading
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from msgspec import Struct

from grader.classroom.gradebook import Gradebook, SubmissionRecord, Versions
from grader.classroom.gradebook.gradebook import Similarity
from grader.classroom.gradebook.rows import time_text
from grader.classroom.layouts.files import SubmissionFiles, storable
from grader.errors import BrokenExerciseError, KitError, OpenHostError, SpecError
from grader.processes.pool import ExaminerPool
from grader.spec.paths import Course
from grader.submission import Submission, Unreadable, read_submission
from grader.submission.choice import SourceFile, choose_between, read_source
from grader.submission.reading import read_text
from grader.verdict.digest import exercise_digest, kit_version
from grader.verdict.judge import MAX_SEED
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Verdict

GONE = Unreadable(
    "it was there when the folder was listed and was gone when it was to be read; put it back, or leave it out"
)


class Task(Struct, frozen=True, eq=False):
    """A submission that may have to be judged, and all that its verdict depends on."""

    record: SubmissionRecord
    versions: Versions
    submission: Submission
    seed: int


class TaskResult(Struct, frozen=True):
    """The verdict; without one, why there is none, and whether the exercise or an open host is at fault."""

    verdict: Verdict | None
    error: str = ""
    is_exercise_broken: bool = False
    is_host_open: bool = False


class SubmissionLoader:
    """Reads submissions below a folder."""

    def __init__(self, course: Course, root: Path) -> None:
        self._root = root
        self._course = course

    def load(self, files: SubmissionFiles) -> tuple[SubmissionRecord, Submission | Unreadable]:
        """The submission, or why there is none: `GONE` where a file vanished since the folder was listed.

        Of a module and a notebook it is the one that counts.
        """
        if not files.files:
            source = read_text(files.source, self._course.module_name(files.exercise))
            return _record(files, files.place, source, files.submitted_at), source
        root = Path(files.root) if files.root else self._root
        read = [_read(root, file) for file in files.files]
        there = [file for file in read if not file.is_gone()] or read[:1]
        chosen, remark = there[0], ""
        if len(there) > 1:
            chosen, other, why = choose_between(self._course, files.exercise, *there)
            remark = f"{storable(other.path.name)} was handed in too: {why}"
        submission = GONE if chosen.is_gone() else chosen.read
        location = files.prefix + storable(os.fspath(chosen.path.relative_to(root)))
        written = time_text(chosen.modified / 1e9) if chosen.modified else ""
        return _record(files, location, submission, files.submitted_at or written, remark), submission


def _read(root: Path, file: str) -> SourceFile:
    path = root / file
    return read_source(path, storable(path.name), inside=root)


def _record(
    files: SubmissionFiles, file: str, submission: Submission | Unreadable, submitted_at: str, remark: str = ""
) -> SubmissionRecord:
    digest = _source_digest(submission)
    return SubmissionRecord(
        student=files.student,
        exercise=files.exercise,
        file=file,
        digest=digest,
        remark=remark,
        submitted_at=submitted_at,
    )


def _source_digest(submission: Submission | Unreadable) -> str:
    """Equal for sources that a verdict cannot tell apart: the same chunks under the same labels."""
    digest = hashlib.sha256()
    if isinstance(submission, Unreadable):
        digest.update(b"unreadable\0" + submission.reason.encode("utf-8", "backslashreplace"))
    else:
        for chunk in submission.chunks:
            digest.update(f"{chunk.label}\0{chunk.text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def seed_of_attempt(key: str, seed: int, attempt: int) -> int:
    """Return the seed itself for first submissions, and another one, the same for the class, for each resubmission.

    It cannot be derived without the gradebook's key.
    """
    if not attempt:
        return seed
    digest = hmac.digest(key.encode(), f"{seed}/{attempt}".encode(), "sha256")
    return int.from_bytes(digest[:8]) % MAX_SEED


DedupeKey = tuple[Similarity, str, Versions, int]


class Deduplicator:
    """Shares verdicts between similar submissions: equal sources, or equal syntax trees if the verdict names no line.

    The gradebook knows those that are graded, this object those that are being graded. What is graded and what is
    shared depends on the order of submissions alone, not on which one ends first.
    """

    def __init__(self, gradebook: Gradebook, *, accepts_open: bool) -> None:
        self._gradebook = gradebook
        self._accepts_open = accepts_open
        self._leaders: dict[DedupeKey, Task] = {}
        self._followers: dict[Task, list[Task]] = {}
        self._exact_only: set[str] = set()
        """Syntax trees whose verdict was not shared, so that the next ones do not wait for each other."""
        self.waiting = 0

    def is_copy(self, task: Task) -> bool:
        """Return whether a submission with the same source was graded or is being graded."""
        return _keys(task)[0] in self._leaders or self._similar("digest", task) is not None

    def shared(self, task: Task) -> int | None:
        """Return the verdict of a similar submission, or None if there is none yet."""
        found = self._similar("digest", task)
        return self._similar("fingerprint", task) if found is None and task.record.fingerprint else found

    def follows(self, task: Task) -> bool:
        """Return whether the task waits for a similar one; if not, similar ones wait for it until `settle`."""
        keys = [key for key in _keys(task) if key[1] not in self._exact_only]
        leader = next((self._leaders[key] for key in keys if key in self._leaders), None)
        if leader is not None:
            self._followers[leader].append(task)
            self.waiting += 1
            return True
        self._followers[task] = []
        for key in keys:
            self._leaders.setdefault(key, task)
        return False

    def settle(self, task: Task) -> list[Task]:
        """Return the tasks that waited for this one, which has ended."""
        for key in _keys(task):
            if self._leaders.get(key) is task:
                del self._leaders[key]
        fingerprint = task.record.fingerprint
        if fingerprint and self._similar("fingerprint", task) is None:
            self._exact_only.add(fingerprint)
        followers = self._followers.pop(task, [])
        self.waiting -= len(followers)
        return followers

    def _similar(self, key: Similarity, task: Task) -> int | None:
        return self._gradebook.find_similar(key, task.record, task.versions, task.seed, accepts_open=self._accepts_open)


def _keys(task: Task) -> list[DedupeKey]:
    """Return what similar tasks have in common: the exact source, and the syntax tree if there is one."""
    record = task.record
    keys: list[DedupeKey] = [("digest", record.digest, task.versions, task.seed)]
    if record.fingerprint:
        keys.append(("fingerprint", record.fingerprint, task.versions, task.seed))
    return keys


DIGEST_LENGTH = 12
VERSIONS_REMEMBERED = 256


def versions(course: Course, exercise_id: str) -> Versions:
    """The versions in force for an exercise."""
    return _versions(course, exercise_id, course.stamps(exercise_id))


@lru_cache(maxsize=VERSIONS_REMEMBERED)
def _versions(course: Course, exercise_id: str, _stamps: tuple[tuple[str, int, int], ...]) -> Versions:
    """Found out once for as long as the exercise's files are the same: a cluster's worker asks at every call."""
    return Versions(
        kit=kit_version(course),
        torch=metadata.version("torch"),
        exercise=exercise_digest(course, exercise_id)[:DIGEST_LENGTH],
    )


SEED_OF_TRIAL = 1


class CourseLocation(Struct, frozen=True):
    """Where the course lies on the machine that judges, and whether open files or an open network forbid judging."""

    root: str
    is_strict: bool


_pool = ExaminerPool()
_clients: dict[CourseLocation, PooledJudge] = {}
_lock = threading.Lock()


def judge(location: CourseLocation, task: Task) -> TaskResult:
    """The verdict of an examiner here, which stays for the next submission."""
    try:
        return TaskResult(_client(location).judge(task.record.exercise, task.submission, task.record.file, task.seed))
    except (BrokenExerciseError, SpecError) as error:
        return TaskResult(None, str(error), is_exercise_broken=True)
    except OpenHostError as error:
        return TaskResult(None, str(error), is_host_open=True)
    except KitError as error:
        return TaskResult(None, str(error))


def fingerprint(location: CourseLocation, submission: Submission) -> str:
    """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
    try:
        return _client(location).fingerprint(submission)
    except KitError:
        return ""  # judging it will say what is wrong


def trial(location: CourseLocation, exercise_id: str) -> TaskResult:
    """The verdict on a starter: whether submissions can be judged here at all."""
    course = Course(Path(location.root))
    path = course.pristine(course.editable_files(exercise_id)[0])
    starter = read_submission(path, path.name)
    if isinstance(starter, Unreadable):
        reason = f"its starter {course.shown(path)} cannot be judged: {starter.reason}"
        return TaskResult(None, reason, is_exercise_broken=True)
    record = SubmissionRecord(student="", exercise=exercise_id, file=path.name, digest="")
    return judge(location, Task(record, versions(course, exercise_id), starter, SEED_OF_TRIAL))


def cancel_examiners() -> None:
    """Stop every examiner of this process at once, whatever it is judging; nothing more is judged for these places."""
    for client in _clients.values():
        client.cancel()


def close_examiners() -> None:
    """End every examiner of this process; none may be judging."""
    _clients.clear()
    _pool.close()


def _client(location: CourseLocation) -> PooledJudge:
    with _lock:
        if location not in _clients:
            _clients[location] = PooledJudge(_pool, Course(Path(location.root)), strict=location.is_strict)
        return _clients[location]
