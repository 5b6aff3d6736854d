"""The program of a process that judges traps: `python -m grader.trap.service ROOT LANES [--strict]` reads stdin."""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import msgspec

from grader import errors
from grader.errors import KitError
from grader.processes.examiner_process import Requests
from grader.processes.worker_source import open_worker_source
from grader.spec.paths import Course
from grader.trap.implementations import Role
from grader.trap.judge import TrapJudge
from grader.trap.pooled import PROOF_TEST_SECONDS, TrapAnswer, TrapRequest
from grader.trap.relay import TRAP_SECONDS

PROVED_ROLES = (Role.RIGHT, Role.DEFECTIVE)
"""The roles of the implementations on which a model trap is proven."""

_requests = msgspec.msgpack.Decoder(TrapRequest)


def _serve(course: Course, lanes: int, *, strict: bool) -> None:
    """Answer requests until stdin ends."""
    requests = Requests()
    with closing(open_worker_source(course.secret_folders(), for_many=True, for_tests=True)) as source:
        judge = TrapJudge(course, source, strict=strict, lanes=lanes)
        for body in requests:
            requests.answer(msgspec.msgpack.encode(_answer(judge, _requests.decode(body))))
            source.settle()


def _answer(judge: TrapJudge, request: TrapRequest) -> TrapAnswer:
    try:
        seconds, roles = (PROOF_TEST_SECONDS, PROVED_ROLES) if request.is_proof else (TRAP_SECONDS, tuple(Role))
        result = judge(
            request.exercise,
            request.trap,
            seed=request.seed,
            home=request.home,
            roles=roles,
            seconds=seconds,
            is_proof=request.is_proof,
        )
        return TrapAnswer(result=result)
    except errors.LostNurseryError:
        raise  # this process cannot judge any more; its owner starts another
    except KitError as error:
        return TrapAnswer(error=type(error).__name__, error_message=str(error))


def _main() -> NoReturn:
    status = 0
    try:
        _serve(Course(root=Path(sys.argv[1])), int(sys.argv[2]), strict="--strict" in sys.argv)
    except (BrokenPipeError, errors.LostNurseryError):
        pass  # the owner is gone, or notices the end of the pipe
    except KeyboardInterrupt:
        status = 130
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _main()
