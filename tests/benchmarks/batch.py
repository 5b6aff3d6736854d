"""Measure a batch beside pytest in fresh processes, bare forks, and one core, with the same submissions and checks."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from grader.processes.examiner_process import usable_cores
from grader.spec.paths import Course
from tests.benchmarks.commands import ENVIRONMENT, SECONDS_ALL, SEED, batch_seconds, copy_course, open_layers, rows
from tests.benchmarks.submissions import Sample, harmless, solutions, write_samples
from tests.benchmarks.table import CannotRunError, Target, compared, headline, measured
from tests.support.paths import ROOT

PYTEST_TARGET, FORK_TARGET, CORES_TARGET = (
    Target(bound=40, is_least=True),
    Target(bound=0.8, is_least=True),
    Target(bound=1.8, is_least=True),
)
PEERS_SUBMISSIONS, PEERS_SHARE = 12, 4
"""Fresh processes get at most 12 submissions, and at most a quarter of all: each takes equally long."""

PYTEST_OPTIONS = ("-q", "-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider")


MANY = 4
"""The least ratio of submissions to exercises. With fewer submissions, the rate without the start is noise."""

TOO_FEW = "start aside: not told, there are too few submissions beside those that open the exercises"


class Ground(Struct, frozen=True, kw_only=True):
    """The data of a measurement: a course, its submissions, and the submissions that open each exercise."""

    course: Path
    samples: list[Sample]
    lines: Path
    opening: Path
    opening_count: int
    gradebook: Path

    def open(self, jobs: int) -> float:
        """Return the seconds of a batch in which every examiner judges one submission to every exercise."""
        return batch_seconds(self.course, self.opening, self.gradebook, jobs)

    def batch(self, jobs: int) -> tuple[float, float]:
        """Return the submissions per second of a whole batch, and of the batch without its start."""
        start = self.open(jobs)
        whole = batch_seconds(self.course, self.lines, self.gradebook, jobs)
        count = len(self.samples)
        left = (count - self.opening_count) / max(whole - start, 1e-3)
        return count / whole, left

    def peers_samples(self) -> list[Sample]:
        """Return the submissions for fresh processes."""
        return self.samples[: min(PEERS_SUBMISSIONS, max(len(self.samples) // PEERS_SHARE, 1))]

    def start_is_small(self) -> bool:
        """Return whether there are enough submissions to subtract the start."""
        return len(self.samples) >= MANY * self.opening_count


def batch(runs: int, submissions: int, jobs: int, exercises: list[str]) -> Iterator[str]:
    """Yield lines about a batch, pytest and bare forks, which take turns."""
    about = f"{runs} runs in turns, {submissions} submissions, --jobs {jobs}, --no-share, all layers on"
    yield headline("Batch, submissions a second", about)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        ground = make_ground(Path(folder), submissions, jobs, exercises)
        yield "judged: " + ", ".join(f"{count} of {each}" for each, count in _mixture(ground.samples).items())
        ground.open(jobs)  # caches warm, the references proven on this machine
        whole, bare, fork_whole, fork_bare, pytest = [], [], [], [], []
        statuses: list[dict[str, str]] = []
        for _ in range(runs):
            for values, value in zip((whole, bare), ground.batch(jobs), strict=True):
                values.append(value)
            forked = _fork(ground, jobs)
            fork_whole.append(forked.whole)
            fork_bare.append(forked.without_start)
            statuses = forked.statuses
            pytest.append(_pytest(ground, jobs))
        yield _isolation(ground.gradebook)
        yield measured("batch, its start included", whole, "/s")
        if ground.start_is_small():
            yield measured("batch, its start aside", bare, "/s")
        yield measured(f"pytest, a fresh process each ({len(ground.peers_samples())} of them)", pytest, "/s")
        yield measured("bare fork, its start included", fork_whole, "/s")
        yield measured("bare fork, its start aside", fork_bare, "/s")
        yield compared("batch / pytest, start included", whole, pytest, PYTEST_TARGET)
        yield compared("batch / bare fork, start included", whole, fork_whole, FORK_TARGET)
        if ground.start_is_small():
            yield compared("batch / pytest, start aside", bare, pytest, PYTEST_TARGET)
            yield compared("batch / bare fork, start aside", bare, fork_bare, FORK_TARGET)
        else:
            yield TOO_FEW
        yield from _disagreements(ground, statuses)


def cores(runs: int, submissions: int, exercises: list[str]) -> Iterator[str]:
    """Yield lines about two jobs beside one."""
    yield headline("Two cores by one", f"{runs} runs in turns, {submissions} submissions, --no-share")
    if usable_cores() < 2:
        raise CannotRunError("this machine has one core only")
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        grounds = {jobs: make_ground(Path(folder) / str(jobs), submissions, jobs, exercises) for jobs in (2, 1)}
        rates: dict[int, list[tuple[float, float]]] = {2: [], 1: []}
        for jobs, ground in grounds.items():
            ground.open(jobs)
        for _ in range(runs):
            for jobs, ground in grounds.items():
                rates[jobs].append(ground.batch(jobs))
    told = ["start included", *(["start aside"] if all(each.start_is_small() for each in grounds.values()) else [])]
    for number, start in enumerate(told):
        two, one = ([each[number] for each in rates[jobs]] for jobs in (2, 1))
        yield measured(f"--jobs 2, {start}", two, "/s")
        yield measured(f"--jobs 1, {start}", one, "/s")
        yield compared(f"two cores / one core, {start}", two, one, CORES_TARGET)


def make_ground(folder: Path, submissions: int, jobs: int, exercises: list[str]) -> Ground:
    """Return a copy of the course, and a file with a submission on each line."""
    root = copy_course(folder / "course", exercises)
    samples, opening = harmless(Course(root=root), submissions), solutions(Course(root=root), jobs)
    return Ground(
        course=root,
        samples=samples,
        lines=write_samples(samples, folder / "submissions.jsonl"),
        opening=write_samples(opening, folder / "opening.jsonl"),
        opening_count=len(opening),
        gradebook=folder / "benchmark.sqlite",
    )


class _Forks(Struct, frozen=True, kw_only=True):
    whole: float
    without_start: float
    statuses: list[dict[str, str]]


def _fork(ground: Ground, jobs: int) -> _Forks:
    started = time.perf_counter()
    told = _run(["-m", "tests.benchmarks.fork", str(ground.course), str(ground.lines), str(jobs), str(SEED)])
    taken = time.perf_counter() - started
    forked, count = json.loads(told), len(ground.samples)
    return _Forks(whole=count / taken, without_start=count / forked["seconds"], statuses=forked["statuses"])


def _pytest(ground: Ground, jobs: int) -> float:
    """Return the submissions per second, each in a separate process, `jobs` at a time."""
    samples = ground.peers_samples()
    paths = [ground.course.parent / f"peer_{number}.py" for number in range(len(samples))]
    for path, sample in zip(paths, samples, strict=True):
        path.write_text(sample.source, encoding="utf-8")
    started = time.perf_counter()
    with ThreadPoolExecutor(jobs) as lanes:
        for told in lanes.map(lambda path, sample: _pytest_one(ground, path, sample), paths, samples):
            if " passed" not in told and " failed" not in told:
                raise CannotRunError(f"pytest ran no check: {told[-400:]}")
    return len(samples) / (time.perf_counter() - started)


def _pytest_one(ground: Ground, path: Path, sample: Sample) -> str:
    graded = os.pathsep.join((str(ground.course), str(path), sample.exercise, str(SEED)))
    more = {"GRADED": graded, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # plugins that only the kit's own tests need
    return _run(["-m", "pytest", *PYTEST_OPTIONS, "tests/benchmarks/pytest_peer.py"], more, may_fail=True)


def _run(arguments: list[str], more: dict[str, str] | None = None, *, may_fail: bool = False) -> str:
    """Return the output of a run of the interpreter."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=ENVIRONMENT | (more or {}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS_ALL,
        check=False,
    )
    if done.returncode != 0 and not may_fail:
        raise CannotRunError(f"{arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def _isolation(gradebook: Path) -> str:
    missing = open_layers(gradebook)
    return f"layers that did not hold: {', '.join(missing)}" if missing else "every layer held around every worker"


def _mixture(samples: list[Sample]) -> dict[str, int]:
    return dict(sorted(Counter(sample.exercise for sample in samples).items()))


def _disagreements(ground: Ground, statuses: list[dict[str, str]]) -> Iterator[str]:
    """Yield the checks whose outcomes differ between the bare fork and the kit."""
    seen: dict[str, dict[str, str]] = {sample.student: {} for sample in ground.samples}
    for student, check, status in rows(ground.gradebook, "SELECT student, check_id, status FROM current_checks"):
        seen[student][check] = status
    pairs = list(zip(ground.samples, statuses, strict=True))
    apart = [sample for sample, theirs in pairs if theirs != seen[sample.student]]
    yield f"bare fork and kit disagree on {len(apart)} of {len(pairs)} submissions"
    for sample in apart[:10]:
        yield f"  {sample.base}"
