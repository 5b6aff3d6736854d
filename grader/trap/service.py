"""The program of a process that judges traps: `python -m grader.trap.service ROOT LANES [--strict]` reads stdin."""

import sys
from contextlib import closing
from pathlib import Path

from grader.processes.deadlines import TRAP_PROOF_SECONDS, TRAP_SECONDS
from grader.processes.examiner_process import ServiceRequests, run_service
from grader.processes.worker_source import open_worker_source
from grader.spec.paths import Course
from grader.trap.implementations import Role
from grader.trap.judge import TrapJudge
from grader.trap.pooled_judge import TrapRequest

PROVED_ROLES = (Role.RIGHT, Role.DEFECTIVE)
"""The roles of the implementations on which a model trap is proven."""


def _serve() -> None:
    course, requests = Course(root=Path(sys.argv[1])), ServiceRequests(TrapRequest)
    with closing(open_worker_source(course.secret_folders(), for_many=True, for_tests=True)) as source:
        judge = TrapJudge(course, source, strict="--strict" in sys.argv, lanes=int(sys.argv[2]))
        for request in requests:
            requests.answer(
                judge,
                request.exercise,
                request.trap,
                seed=request.seed,
                home=request.home,
                roles=PROVED_ROLES if request.is_proof else tuple(Role),
                seconds=TRAP_PROOF_SECONDS if request.is_proof else TRAP_SECONDS,
                is_proof=request.is_proof,
            )
            source.settle()


if __name__ == "__main__":
    run_service(_serve)
