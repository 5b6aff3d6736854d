"""The bare fork: a warm process forks for each submission. The fork runs the checks and sends the outcomes.

    python -m tests.benchmarks.fork COURSE SUBMISSIONS.jsonl JOBS SEED

It has no layers and no limits, and only one deadline for the benchmark. It prints one line of JSON.
"""

import contextlib
import io
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

import msgspec
from msgspec import Struct

from grader.sandbox.torch_import import import_torch
from grader.spec.paths import Course
from tests.benchmarks.submissions import Sample, read_samples

PATIENCE = 60.0
"""The benchmark ends if a submission takes more seconds than this."""

Statuses = dict[str, str]


class Forked(Struct, frozen=True, kw_only=True):
    """The seconds of loading and judging, and the status of each check of each submission; none if it did not load."""

    start: float
    seconds: float
    statuses: list[Statuses]


def fork_each(course: Course, samples: list[Sample], jobs: int, seed: int) -> Forked:
    """Judge the samples, `jobs` at a time."""
    began = time.perf_counter()
    import_torch()
    from grader.sandbox.torch_import import complete_torch
    from tests.benchmarks.local import Hunt

    complete_torch()
    hunts = {each: Hunt(course, each, seed) for each in sorted({sample.exercise for sample in samples})}
    for exercise_id, hunt in hunts.items():  # a first run imports and prepares everything before any fork
        named = {check.id: hunt.checks[check.id] for check in hunt.exercise.checks}  # probes would leave traces behind
        _statuses(hunt, course.reference_text(exercise_id), named)
    ready = time.perf_counter()
    statuses = _all(hunts, samples, jobs)
    return Forked(start=ready - began, seconds=time.perf_counter() - ready, statuses=statuses)


def _all(hunts: dict, samples: list[Sample], jobs: int) -> list[Statuses]:
    statuses: list[Statuses] = [{}] * len(samples)
    under_way: dict[int, tuple[int, int]] = {}  # by the pipe's end: the submission's number and its process
    waiting = iter(enumerate(samples))
    while True:
        while len(under_way) < jobs and (following := next(waiting, None)) is not None:
            number, sample = following
            pipe, process = _fork(hunts[sample.exercise], sample.source)
            under_way[pipe] = number, process
        if not under_way:
            return statuses
        ready, _, _ = select.select([*under_way], [], [], PATIENCE)
        if not ready:
            for _, process in under_way.values():
                os.kill(process, signal.SIGKILL)
            raise SystemExit(f"a bare fork has not ended within {PATIENCE:g} s; it has no limits of its own")
        for pipe in ready:
            number, process = under_way.pop(pipe)
            with os.fdopen(pipe, "rb") as file:
                statuses[number] = msgspec.msgpack.decode(file.read() or b"\x80", type=Statuses)
            os.waitpid(process, 0)


def _fork(hunt, source: str) -> tuple[int, int]:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        _judge(hunt, source, writing)
    os.close(writing)
    return reading, process


def _judge(hunt, source: str, pipe: int) -> NoReturn:
    """Judge a submission in the fork, and send the statuses."""
    try:
        os.write(pipe, msgspec.msgpack.encode(_statuses(hunt, source, hunt.checks)))
    finally:
        os._exit(0)


def _statuses(hunt, source: str, checks: dict) -> Statuses:
    from grader.checks.findings import outcome_of_error

    statuses: Statuses = {}
    try:
        context = hunt.context(source)
    except Exception:  # noqa: BLE001 - whatever a module raises while it loads
        return statuses
    for name, check in checks.items():
        error: Exception | None = None
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                check(context)
        except Exception as raised:  # noqa: BLE001 - whatever a check raises is its outcome
            error = raised
        statuses[name] = outcome_of_error(name, error, 0.0, hunt.exercise.limits).status.value
    return statuses


if __name__ == "__main__":
    root, path, jobs, seed = sys.argv[1:]
    forked = fork_each(Course(root=Path(root)), read_samples(Path(path)), int(jobs), int(seed))
    sys.stdout.buffer.write(msgspec.json.encode(forked) + b"\n")
