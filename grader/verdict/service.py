"""What an examiner process runs: `python -m grader.verdict.service ROOT [--strict]` judges what is sent to it."""

import ctypes
import gc
import os
import sys
from pathlib import Path
from typing import NoReturn

import msgspec

from grader import errors
from grader.errors import KitError
from grader.processes.examiner_process import Requests
from grader.spec.paths import Course
from grader.verdict.judge import Judge, open_judge
from grader.verdict.pooled_judge import Answer, FingerprintRequest, JudgeRequest

COLLECT_EVERY = 20
"""Requests between two collections of reference cycles, a few milliseconds each."""

_requests: msgspec.msgpack.Decoder[JudgeRequest | FingerprintRequest] = msgspec.msgpack.Decoder(
    JudgeRequest | FingerprintRequest
)


def _serve(course: Course, *, strict: bool) -> None:
    """Answer requests until there are no more."""
    requests = Requests()
    with open_judge(course, strict=strict, for_many=True) as judge:
        for count, body in enumerate(requests, start=1):
            request = _requests.decode(body)
            requests.answer(msgspec.msgpack.encode(_answer(judge, request)))
            if isinstance(request, JudgeRequest):
                judge.prepare(request.exercise)
            if count % COLLECT_EVERY == 0:
                _give_back_memory()


def _answer(judge: Judge, request: JudgeRequest | FingerprintRequest) -> Answer:
    try:
        if isinstance(request, FingerprintRequest):
            return Answer(fingerprint=judge.fingerprint(request.submission))
        return Answer(verdict=judge(request.exercise, request.submission, request.file, request.seed))
    except errors.LostNurseryError:
        raise  # this process is of no more use: its owner starts another
    except KitError as error:
        return Answer(error=type(error).__name__, text=str(error))


def _give_back_memory() -> None:
    """Collect reference cycles, which waits while submissions are judged, and give free memory back to the system."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not every C library has it
        if trim is not None:
            trim(0)


def _main() -> NoReturn:
    status = 0
    try:
        _serve(Course(Path(sys.argv[1])), strict="--strict" in sys.argv)
    except (BrokenPipeError, errors.LostNurseryError):
        pass  # the owner is gone, or finds out by the end of the pipe
    except KeyboardInterrupt:
        status = 130
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _main()
