"""The program of an examiner process: `python -m grader.verdict.service ROOT [--strict]` answers requests on stdin."""

import sys
from pathlib import Path

from grader.processes.examiner_process import ServiceRequests, run_service
from grader.processes.memory import free_memory
from grader.spec.paths import Course
from grader.verdict.judge import open_judge
from grader.verdict.pooled_judge import JudgeRequest

COLLECT_EVERY = 20
"""Collect reference cycles after this many requests; a collection takes a few milliseconds."""


def _serve() -> None:
    course, requests = Course(root=Path(sys.argv[1])), ServiceRequests(JudgeRequest)
    with open_judge(course, strict="--strict" in sys.argv, for_many=True) as judge:
        for count, request in enumerate(requests, start=1):
            requests.answer(judge, request.exercise, request.submission, request.file, request.seed)
            judge.prepare(request.exercise)
            if count % COLLECT_EVERY == 0:
                free_memory()


if __name__ == "__main__":
    run_service(_serve)
