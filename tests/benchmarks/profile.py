"""Profile a verdict on the trusted side: in the examiner, and in the batch that feeds it.

Each process is profiled from inside. The time of a library counts towards the function of the kit that called it. The
time of pytest, of torch, and of waiting is listed separately.
"""

import cProfile
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from grader.spec.paths import Course
from tests.benchmarks.commands import ENVIRONMENT, SECONDS_ALL, SECONDS_EACH, SEED, copy_course
from tests.benchmarks.submissions import harmless, read_samples, write_samples
from tests.benchmarks.table import CannotRunError, headline

TOP = 5
KIT = f"{os.sep}grader{os.sep}"
LIBRARIES = {"_pytest": "pytest's protocol", "pluggy": "pytest's protocol", "torch": "torch's own Python"}
WAITS = ("poll", "recv", "recv_into", "recvmsg", "select", "waitid", "waitpid", "acquire", "sleep", "read", "readinto")
"""Built-in functions in which a process only waits for another process."""

NOBODY = "what nobody in the kit called"

Costs = dict[str, float]


class Profiled(Struct, frozen=True, kw_only=True):
    """The wall-clock and processor time, the waiting time, and the own time by name, for `count` submissions."""

    count: int
    wall: float
    processor: float
    waiting: float
    costs: Costs


def profile(submissions: int, exercises: list[str]) -> Iterator[str]:
    """Yield lines about the top costs."""
    yield headline(
        f"Profile: {submissions} submissions judged one after the other, nothing shared", "milliseconds a submission"
    )
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        root = copy_course(Path(folder) / "course", exercises)
        samples = write_samples(harmless(Course(root=root), submissions), Path(folder) / "submissions.jsonl")
        for side, what in (("examiner", "the examiner's process"), ("batch", "the batch's process, its main thread")):
            yield from ("", *_told(what, _in_own_process(side, root, samples, submissions)))


def _in_own_process(side: str, root: Path, samples: Path, submissions: int) -> Profiled:
    command = [sys.executable, "-m", "tests.benchmarks.profile", side, str(root), str(samples)]
    limit = SECONDS_ALL + SECONDS_EACH * submissions
    done = subprocess.run(
        command, env=ENVIRONMENT, cwd=root, capture_output=True, text=True, timeout=limit, check=False
    )
    if done.returncode != 0:
        raise CannotRunError(f"the profile of {side} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Profiled)


def _told(what: str, profiled: Profiled) -> list[str]:
    each = 1000 / profiled.count
    own = sum(profiled.costs.values())
    top = sorted(profiled.costs.items(), key=lambda item: -item[1])[:TOP]
    return [
        f"{what}: {each * profiled.wall:.2f} in all, {each * profiled.processor:.2f} of the processor's",
        f"  {each * profiled.waiting:8.2f}  waiting for others",
        f"  {each * own:8.2f}  its own, as the profiler slows it down; of these",
        *(f"  {each * seconds:8.2f}    {name}" for name, seconds in top),
    ]


def _profile_examiner(root: Path, samples: Path) -> Profiled:
    """Run the work of `grader.verdict.service` for each task, without its pipe.

    The first submission of an exercise opens it.
    """
    from grader.submission import submission_from_text
    from grader.verdict.judge import open_judge

    tasks = [(sample.exercise, submission_from_text(sample.source)) for sample in read_samples(samples)]
    profiler = cProfile.Profile()

    with open_judge(Course(root=root), strict=True) as judge:
        for exercise in sorted({exercise for exercise, _ in tasks}):
            opening = next(submission for each, submission in tasks if each == exercise)
            judge(exercise, opening, "attention.py", SEED)
        wall, processor = time.perf_counter(), time.process_time()
        profiler.enable()
        for exercise, submission in tasks:
            judge(exercise, submission, "attention.py", SEED)
            judge.prepare(exercise)
        profiler.disable()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return _profiled(profiler, len(tasks), wall, processor)


def _profile_batch(root: Path, samples: Path) -> Profiled:
    """Run a batch with one job, as its command does. The start is included."""
    from grader.classroom.grading import BatchOptions, grade_submissions
    from grader.classroom.local_engine import local_engine

    count = len(read_samples(samples))
    course, gradebook = Course(root=root), samples.with_suffix(".sqlite")
    profiler = cProfile.Profile()
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    profiler.enable()
    engine = local_engine(course, 1, is_strict=True)
    options = BatchOptions(seed=SEED, shares=False)
    grade_submissions(course, samples, gradebook, engine, options, lambda _total: lambda _progress: None)
    profiler.disable()
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _profiled(profiler, count, wall, processor)


def _profiled(profiler: cProfile.Profile, count: int, wall: float, processor: float) -> Profiled:
    """Return the own time by name: of each function of the kit with the libraries that it calls."""
    costs: Costs = defaultdict(float)
    waiting = 0.0
    stats = pstats.Stats(profiler).stats  # by function: calls, primitive calls, own time, whole time, callers
    shares = _shares(stats)
    for function, (_, _, own, _, _) in stats.items():
        if _waits(function):
            waiting += own
            continue
        for name, share in shares[function].items():
            costs[name] += own * share
    return Profiled(count=count, wall=wall, processor=processor, waiting=waiting, costs=costs)


def _shares(stats: dict) -> dict[tuple, Costs]:
    """Return the names that each function's own time counts towards, in shares: its own, or those of its callers."""
    found: dict[tuple, Costs] = {}

    def of(function: tuple) -> Costs:
        if function not in found:
            found[function] = {}  # an indirect recursion is not counted twice
            name = _name(function)
            found[function] = {name: 1.0} if name else _whole(_callers_shares(stats[function][4], of))
        return found[function]

    return {function: of(function) for function in stats}


def _callers_shares(callers: dict, of: Callable[[tuple], Costs]) -> Costs:
    """Return the callers' names, with the time that each spent in the function."""
    shares: Costs = defaultdict(float)
    for caller, (_, _, _, seconds) in callers.items():
        for name, share in of(caller).items():
            shares[name] += share * max(seconds, 1e-9)
    return shares


def _whole(shares: Costs) -> Costs:
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()} if total else {NOBODY: 1.0}


def _name(function: tuple) -> str:
    """Return the name that a function's time counts towards; empty if it counts towards its callers."""
    path, _, name = function
    if KIT in path and "site-packages" not in path:
        return f"{path.rpartition(KIT)[2].removesuffix('.py').replace(os.sep, '.')}.{name}"
    return next((told for part, told in LIBRARIES.items() if f"{os.sep}{part}{os.sep}" in path), "")


def _waits(function: tuple) -> bool:
    path, _, name = function
    return path == "~" and any(f"'{wait}'" in name or f".{wait}>" in name for wait in WAITS)


if __name__ == "__main__":
    chosen = {"examiner": _profile_examiner, "batch": _profile_batch}[sys.argv[1]]
    print(msgspec.json.encode(chosen(Path(sys.argv[2]), Path(sys.argv[3]))).decode(), flush=True)
    os._exit(0)
