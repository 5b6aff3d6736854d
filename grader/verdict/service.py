"""The program of an examiner process: `python -m grader.verdict.service ROOT [--strict]` answers requests on stdin."""

import os
import sys
from pathlib import Path
from typing import NoReturn

import msgspec

from grader import errors
from grader.errors import KitError
from grader.processes.examiner_process import Requests
from grader.processes.memory import free_memory
from grader.spec.paths import Course
from grader.verdict.judge import Judge, open_judge
from grader.verdict.pooled_judge import Answer, JudgeRequest

COLLECT_EVERY = 20
"""Collect reference cycles after this many requests; a collection takes a few milliseconds."""

_requests = msgspec.msgpack.Decoder(JudgeRequest)


def _serve(course: Course, *, strict: bool) -> None:
    """Answer requests until stdin ends."""
    requests = Requests()
    with open_judge(course, strict=strict, for_many=True) as judge:
        for count, body in enumerate(requests, start=1):
            request = _requests.decode(body)
            requests.answer(msgspec.msgpack.encode(_answer(judge, request)))
            judge.prepare(request.exercise)
            if count % COLLECT_EVERY == 0:
                free_memory()


def _answer(judge: Judge, request: JudgeRequest) -> Answer:
    try:
        return Answer(verdict=judge(request.exercise, request.submission, request.file, request.seed))
    except errors.LostNurseryError:
        raise  # this process cannot judge any more; its owner starts another
    except KitError as error:
        return Answer(error=type(error).__name__, error_message=str(error))


def _main() -> NoReturn:
    status = 0
    try:
        _serve(Course(root=Path(sys.argv[1])), strict="--strict" in sys.argv)
    except (BrokenPipeError, errors.LostNurseryError):
        pass  # the owner is gone, or notices the end of the pipe
    except KeyboardInterrupt:
        status = 130
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _main()
