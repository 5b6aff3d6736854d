"""Tasks of a batch: submissions with their seeds, deduplicated, and the functions that an engine runs on them."""

import hashlib
import hmac
import os
import threading
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from msgspec import Struct

from grader.classroom.gradebook import Gradebook, SharedVerdict, SubmissionRecord, Versions
from grader.classroom.gradebook.gradebook import Likeness
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
    return SubmissionRecord(files.student, files.exercise, file, digest, remark=remark, submitted_at=submitted_at)


def _source_digest(submission: Submission | Unreadable) -> str:
    """Equal for sources that a verdict cannot tell apart: the same chunks under the same labels."""
    digest = hashlib.sha256()
    if isinstance(submission, Unreadable):
        digest.update(b"unreadable\0" + submission.reason.encode("utf-8", "backslashreplace"))
    else:
        for chunk in submission.chunks:
            digest.update(f"{chunk.label}\0{chunk.text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


SAMPLED = 100
"""Of so many shared verdicts one is judged again."""


def seed_of_attempt(key: str, seed: int, attempt: int) -> int:
    """The seed itself for first submissions; another for each resubmission, the same for the whole class.

    Nobody without the gradebook's key can derive those from it.
    """
    return _drawn(key, f"{seed}/{attempt}") % MAX_SEED if attempt else seed


def is_sampled(key: str, task: Task) -> bool:
    """Whether a shared verdict is judged by itself too: for one in a hundred, whom nobody without the key knows."""
    return not _drawn(key, f"{task.seed}/{task.record.student}/{task.record.exercise}/{task.record.digest}") % SAMPLED


def _drawn(key: str, text: str) -> int:
    return int.from_bytes(hmac.digest(key.encode(), text.encode("utf-8", "backslashreplace"), "sha256")[:8])


DedupeKey = tuple[Likeness, str, Versions, int]


class Deduplicator:
    """Remembers what is being judged; the gradebook remembers what was.

    Submissions are alike when their sources are equal, or their syntax trees where the verdict names no line. What is
    judged and what is shared depends on the order of submissions alone, not on who is done first.
    """

    def __init__(self, gradebook: Gradebook, *, accepts_open: bool) -> None:
        self._gradebook = gradebook
        self._open_counts = accepts_open
        self._leaders: dict[DedupeKey, Task] = {}
        self._followers: dict[Task, list[Task]] = {}
        self._distrusted: set[str] = set()
        self.waiting = 0

    def distrust(self, task: Task) -> None:
        """Share nothing any more among those that are like the task."""
        self._distrusted |= {task.record.digest, task.record.fingerprint} - {""}

    def is_copy(self, task: Task) -> bool:
        """Whether a submission with the very same source was judged or is being judged."""
        return _keys(task)[0] in self._leaders or bool(self._judged("digest", task))

    def shared(self, task: Task) -> SharedVerdict | None:
        """The verdict of one that is alike; None while there is none."""
        if self._is_distrusted(task):
            return None
        same = self._judged("digest", task)
        if same is not None or not task.record.fingerprint:
            return same
        like = self._judged("fingerprint", task)
        return None if like is None or like.is_bound else like

    def follows(self, task: Task) -> bool:
        """Whether one that is alike is being judged; the task then waits for it, and else is the one to wait for.

        Those that waited for a task come back from `settle`.
        """
        if self._is_distrusted(task):
            return False
        is_bound = bool(task.record.fingerprint and self._judged("fingerprint", task))
        keys = _keys(task)
        leader = next((self._leaders[key] for key in (keys[:1] if is_bound else keys) if key in self._leaders), None)
        if leader is not None:
            self._followers[leader].append(task)
            self.waiting += 1
            return True
        self._followers[task] = []
        for key in keys:
            self._leaders.setdefault(key, task)
        return False

    def settle(self, task: Task) -> list[Task]:
        """Those that waited for a task, now that it was judged or could not be."""
        for key in _keys(task):
            if self._leaders.get(key) is task:
                del self._leaders[key]
        followers = self._followers.pop(task, [])
        self.waiting -= len(followers)
        return followers

    def _is_distrusted(self, task: Task) -> bool:
        return bool(self._distrusted & {task.record.digest, task.record.fingerprint})

    def _judged(self, likeness: Likeness, task: Task) -> SharedVerdict | None:
        return self._gradebook.judged_alike(
            likeness, task.record, task.versions, task.seed, accepts_open=self._open_counts
        )


def _keys(task: Task) -> list[DedupeKey]:
    """By what others may be like the task: its exact source, and its syntax tree where it has one."""
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
        kit_version(course), metadata.version("torch"), exercise_digest(course, exercise_id)[:DIGEST_LENGTH]
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
        told = f"its starter {course.shown(path)} cannot be judged: {starter.reason}"
        return TaskResult(None, told, is_exercise_broken=True)
    record = SubmissionRecord("", exercise_id, path.name, "")
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
