"""Submissions on their way to a verdict: read from their layout, as tasks, with their results."""

import hashlib
import os
import time
from pathlib import Path

from msgspec import Struct

from grader.batch.layouts.records import SubmissionFiles, storable
from grader.course.paths import Course
from grader.gradebook import SubmissionRecord, Versions
from grader.gradebook.gradebook import TIME
from grader.submission import Submission, Unreadable, submission_from_text
from grader.submission.choice import SourceFile, choose_between, read_source
from grader.submission.module import unix_lines
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
            source = _from_line(files.source)
            return _record(files, files.place, source, files.submitted_at), source
        root = Path(files.root) if files.root else self._root
        read = [_read(root, file) for file in files.files]
        there = [file for file in read if not file.is_gone()] or read[:1]
        chosen, remark = there[0], ""
        if len(there) > 1:
            chosen, other, why = choose_between(self._course, files.exercise, *there)
            remark = f"{storable(other.path.name)} was handed in too: {why}"
        submission = GONE if chosen.is_gone() else chosen.read
        place = files.prefix + storable(os.fspath(chosen.path.relative_to(root)))
        written = time.strftime(TIME, time.gmtime(chosen.modified / 1e9)) if chosen.modified else ""
        return _record(files, place, submission, files.submitted_at or written, remark), submission


def _read(root: Path, file: str) -> SourceFile:
    path = root / file
    return read_source(path, storable(path.name), inside=root)


def _record(
    files: SubmissionFiles, file: str, submission: Submission | Unreadable, submitted_at: str, remark: str = ""
) -> SubmissionRecord:
    digest = source_digest(submission)
    return SubmissionRecord(files.student, files.exercise, file, digest, remark=remark, submitted_at=submitted_at)


def source_digest(submission: Submission | Unreadable) -> str:
    """Equal for sources that a verdict cannot tell apart: the same chunks under the same labels."""
    digest = hashlib.sha256()
    if isinstance(submission, Unreadable):
        digest.update(b"unreadable\0" + submission.reason.encode("utf-8", "backslashreplace"))
    else:
        for chunk in submission.chunks:
            digest.update(f"{chunk.label}\0{chunk.text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _from_line(source: str) -> Submission | Unreadable:
    """A submission that came as text."""
    if "\0" in source:
        return Unreadable("the source holds a NUL character, so it is not Python; send it as it was written")
    if not source.strip():
        return Unreadable("the source is empty; send the whole file's text")
    return submission_from_text(unix_lines(source))
