"""Submissions as lines of JSON: objects with student, exercise and source."""

import codecs
import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from grader.batch.layouts.records import BROKEN, TOO_LONG, TWICE, UNKNOWN, SkippedFiles, SubmissionFiles
from grader.errors import KitError, UsageError
from grader.submission import MAX_FILE_BYTES

PIECE_BYTES = 1 << 20


class _Line(Struct, frozen=True):
    """What a line holds; other keys are ignored."""

    student: str
    exercise: str
    source: str
    submitted_at: str = ""


class Lines:
    """Submissions in a .jsonl file, in the order of the file; the first of a student for an exercise counts."""

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

    def __iter__(self) -> Iterator[SubmissionFiles]:
        decoder = msgspec.json.Decoder(_Line)
        seen: set[bytes] = set()
        for number, position, content in self._lines():
            place = f"{self._path.name}, line {number}"
            try:
                line = decoder.decode(content)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                self._skipped.add(BROKEN, f"{place}: {error}")
                continue
            if line.exercise not in self._exercises:
                self._skipped.add(UNKNOWN, f"{place}: {line.exercise}")
                continue
            key = hashlib.blake2b(msgspec.json.encode((line.student, line.exercise)), digest_size=16).digest()
            if key in seen:
                self._skipped.add(TWICE, f"{place}: {line.student}, {line.exercise}; the first is taken")
                continue
            seen.add(key)
            yield SubmissionFiles(
                line.student,
                line.exercise,
                place,
                position,
                source=line.source,
                submitted_at=line.submitted_at,
                aliases=(line.student,),
            )

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Number, end and content of each line that is neither empty nor too long."""
        try:
            with self._path.open("rb") as file:
                yield from self._lines_of(file)
        except OSError as error:
            raise KitError(
                f"{self._path} cannot be read to its end: {error.strerror}; what was judged is recorded"
            ) from None

    def _lines_of(self, file: IO[bytes]) -> Iterator[tuple[int, int, bytes]]:
        number = 0
        while content := file.readline(MAX_FILE_BYTES + 1):
            number += 1
            if len(content) > MAX_FILE_BYTES:
                self._skipped.add(TOO_LONG, f"{self._path.name}, line {number}: over {MAX_FILE_BYTES:,} bytes")
                _skip_line(file, content)
            elif content.strip():
                yield number, file.tell(), content.removeprefix(codecs.BOM_UTF8 if number == 1 else b"")


def _skip_line(file: IO[bytes], piece: bytes) -> None:
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(PIECE_BYTES)
