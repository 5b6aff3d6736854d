"""The layout of a file with a line of JSON for each submission."""

import codecs
import contextlib
import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from grader.classroom.gradebook.rows import WorkKind, written_time
from grader.classroom.layouts.files import Person, SkippedFiles, SkippedKind, SubmissionFiles
from grader.errors import KitError, UsageError
from grader.submission import MAX_FILE_BYTES

PIECE_BYTES = 1 << 20


class _Line(Struct, frozen=True, kw_only=True):
    """A line's keys; other keys are ignored. A line has a `source`, a `trap` or both."""

    student: str
    exercise: str
    source: str | None = None
    trap: str | None = None
    submitted_at: str = ""


class _LineOfStudent(Struct, frozen=True, kw_only=True):
    """The student in a line; other keys are ignored."""

    student: str


class LineSubmissions:
    """A .jsonl file, in its order. Of several submissions of a student for an exercise, the first counts."""

    name = "lines"

    def __init__(self, path: Path, exercises: Collection[str], skipped: SkippedFiles) -> None:
        self._path = path
        self._exercises = exercises
        self._skipped = skipped
        try:
            with path.open("rb"):
                self.total = path.stat().st_size
        except OSError as error:
            raise UsageError(f"{path} cannot be opened: {error.strerror}; check its permissions") from None

    def people(self) -> Iterator[Person]:
        """Yield the student of each line that names one."""
        decoder = msgspec.json.Decoder(_LineOfStudent)
        for _, _, content in self._lines(SkippedFiles()):
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                student = decoder.decode(content).student
                yield Person(student=student, aliases=(student,))

    def __iter__(self) -> Iterator[SubmissionFiles]:
        decoder = msgspec.json.Decoder(_Line)
        known: set[bytes] = set()
        for number, position, content in self._lines(self._skipped):
            place = f"{self._path.name}, line {number}"
            try:
                line = decoder.decode(content)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                self._skipped.add(SkippedKind.BROKEN, f"{place}: {error}")
                continue
            if line.exercise not in self._exercises:
                self._skipped.add(SkippedKind.UNKNOWN, f"{place}: {line.exercise}")
                continue
            if line.source is None and line.trap is None:
                self._skipped.add(SkippedKind.BROKEN, f"{place}: it has neither source nor trap")
                continue
            submitted_at = written_time(line.submitted_at)
            if line.submitted_at and not submitted_at:
                self._skipped.add(SkippedKind.NO_TIME, f"{place}: {line.submitted_at}")
            for kind, source in ((WorkKind.MODULE, line.source), (WorkKind.TRAP, line.trap)):
                if source is None:
                    continue
                key = hashlib.blake2b(msgspec.json.encode((line.student, line.exercise, kind)), digest_size=16).digest()
                if key in known:
                    about = "" if kind is WorkKind.MODULE else f", {kind}"
                    self._skipped.add(
                        SkippedKind.TWICE, f"{place}: {line.student}, {line.exercise}{about}; the first is graded"
                    )
                    continue
                known.add(key)
                yield SubmissionFiles(
                    student=line.student,
                    exercise=line.exercise,
                    place=place,
                    position=position,
                    source=source,
                    submitted_at=submitted_at,
                    aliases=(line.student,),
                    kind=kind,
                )

    def _lines(self, skipped: SkippedFiles) -> Iterator[tuple[int, int, bytes]]:
        """Yield the number, the end and the content of each line that is neither empty nor too long."""
        try:
            with self._path.open("rb") as file:
                yield from self._lines_of(file, skipped)
        except OSError as error:
            raise KitError(
                f"{self._path} cannot be read to its end: {error.strerror}; the verdicts so far are stored"
            ) from None

    def _lines_of(self, file: IO[bytes], skipped: SkippedFiles) -> Iterator[tuple[int, int, bytes]]:
        number = 0
        while content := file.readline(MAX_FILE_BYTES + 1):
            number += 1
            if len(content) > MAX_FILE_BYTES:
                skipped.add(SkippedKind.TOO_LONG, f"{self._path.name}, line {number}: over {MAX_FILE_BYTES:,} bytes")
                _skip_line(file, content)
            elif content.strip():
                yield number, file.tell(), content.removeprefix(codecs.BOM_UTF8 if number == 1 else b"")


def _skip_line(file: IO[bytes], piece: bytes) -> None:
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(PIECE_BYTES)
