"""What runs in an examiner process of the pool: requests read from one pipe, judged, and answered on another."""

import ctypes
import gc
import itertools
import os
import sys
from pathlib import Path
from typing import IO, NoReturn

import msgspec
from msgspec import Struct

from grader import errors
from grader.errors import KitError
from grader.spec.paths import Course
from grader.submission import Submission
from grader.verdict.judge import Judge, open_judge
from grader.verdict.verdict import Verdict

COLLECT_EVERY = 20
"""Requests between two collections of what refers to itself, a few milliseconds each."""

SIZE_BYTES = 8


class FingerprintRequest(Struct, frozen=True, tag=True):
    """One submission to take the fingerprint of."""

    submission: Submission


class JudgeRequest(Struct, frozen=True, tag=True):
    """One submission to judge."""

    exercise: str
    submission: Submission
    file: str
    seed: int


class Answer(Struct, frozen=True):
    """The verdict, the fingerprint, or the name and text of the kit's own error."""

    verdict: Verdict | None = None
    fingerprint: str = ""
    error: str = ""
    text: str = ""


def write_message(pipe: IO[bytes], body: bytes) -> None:
    """Send a message, its size first."""
    pipe.write(len(body).to_bytes(SIZE_BYTES, "big") + body)
    pipe.flush()


def read_message(pipe: IO[bytes]) -> bytes:
    """The next message; empty at the end."""
    size = pipe.read(SIZE_BYTES)
    body = pipe.read(int.from_bytes(size, "big")) if len(size) == SIZE_BYTES else b""
    return body if len(body) == int.from_bytes(size, "big") else b""


def _serve(course: Course, *, strict: bool) -> None:
    """Answer requests from stdin on stdout until stdin ends."""
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer

    with open_judge(course, strict=strict, for_many=True) as judge:
        for count in itertools.count(1):
            message = read_message(requests)
            if not message:
                return
            request = msgspec.msgpack.decode(message, type=JudgeRequest | FingerprintRequest)
            write_message(answers, msgspec.msgpack.encode(_answer(judge, request)))
            if isinstance(request, JudgeRequest):
                judge.prepare(request.exercise)
            if count % COLLECT_EVERY == 0:
                _give_back_memory()


def _give_back_memory() -> None:
    """Collect what refers to itself, which waits while submissions are judged, and leave what is free to the system."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not every C library has it
        if trim is not None:
            trim(0)


def _answer(judge: Judge, request: JudgeRequest | FingerprintRequest) -> Answer:
    try:
        if isinstance(request, FingerprintRequest):
            return Answer(fingerprint=judge.fingerprint(request.submission))
        return Answer(judge(request.exercise, request.submission, request.file, request.seed))
    except errors.LostNurseryError:
        raise  # this process is of no more use: the asking side starts another
    except KitError as error:
        return Answer(error=type(error).__name__, text=str(error))


def _main() -> NoReturn:
    """`python -m grader.processes.examiner_server ROOT [--strict]`."""
    status = 0
    try:
        _serve(Course(Path(sys.argv[1])), strict="--strict" in sys.argv)
    except (BrokenPipeError, errors.LostNurseryError):
        pass  # whoever asked is gone, or finds out by the end of the pipe
    except KeyboardInterrupt:
        status = 130
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _main()
