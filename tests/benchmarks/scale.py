"""Measure a batch of a hundred thousand beside one of a thousand: time, memory of all processes, complete gradebook."""

import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from grader.spec.paths import Course
from tests.benchmarks.commands import ENVIRONMENT, SECONDS_ALL, SECONDS_EACH, batch_command, copy_course, rows
from tests.benchmarks.complete import completeness
from tests.benchmarks.memory import Sampler
from tests.benchmarks.submissions import SHARES, made, solutions, write_samples
from tests.benchmarks.table import CannotRunError, Target, compared, headline, measured

SMALL = 1000
PARTS = 10
"""The number of parts of the large batch whose memory is compared."""

FLAT, STEADY = Target(bound=1.10), Target(bound=1.10)


class Run(Struct, frozen=True, kw_only=True):
    """One batch: its time, and samples of its memory."""

    seconds: float
    sampler: Sampler
    judged: float


class Ground(Struct, frozen=True, kw_only=True):
    """The course and the folder in which batches run."""

    folder: Path
    course: Path
    jobs: int
    shares: bool

    def run(self, lines: Path, count: int) -> Run:
        """Grade a file into a new gradebook. Raise `CannotRunError` if that fails."""
        gradebook = self.gradebook(lines)
        for path in gradebook.parent.glob(f"{gradebook.name}*"):
            path.unlink()
        command = batch_command(lines, gradebook, self.jobs, shares=self.shares)
        started = time.perf_counter()
        with (self.folder / "log").open("w+b") as log:
            process = subprocess.Popen(command, cwd=self.course, env=ENVIRONMENT, stdout=log, stderr=log)
            try:
                with Sampler(process.pid, gradebook) as sampler:
                    status = process.wait(SECONDS_ALL + SECONDS_EACH * count)
            finally:
                process.kill()
                process.wait()
        seconds = time.perf_counter() - started
        if status != 0:
            told = (self.folder / "log").read_text("utf-8", "replace").strip()
            raise CannotRunError(f"the batch ended with {status}: {told[-400:]}")
        judged = rows(gradebook, "SELECT count(*) FROM verdicts WHERE shared_with IS NULL")[0][0]
        return Run(seconds=seconds, sampler=sampler, judged=judged / count)

    def gradebook(self, lines: Path) -> Path:
        return lines.with_suffix(".sqlite")


def scale(submissions: int, jobs: int, distinct: float, exercises: list[str], *, shares: bool) -> Iterator[str]:
    """Yield lines about a small batch, a large one, and the small one again."""
    small = min(SMALL, max(submissions // 2, 1))
    how = f"--jobs {jobs}, {'shared verdicts' if shares else '--no-share'}"
    yield headline("Scale", f"{submissions:,} submissions between two batches of {small:,}; {how}")
    yield _mixture(distinct)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        folder = Path(name)
        ground = Ground(folder=folder, course=copy_course(folder / "course", exercises), jobs=jobs, shares=shares)
        course = Course(root=ground.course)
        large_lines = write_samples(made(course, submissions, distinct), folder / "large.jsonl")
        small_lines = write_samples(made(course, small, distinct), folder / "small.jsonl")
        opening, opening_lines = solutions(course, jobs), folder / "opening.jsonl"
        write_samples(opening, opening_lines)
        ground.run(opening_lines, len(opening))  # caches warm, the references proven on this machine
        smalls = [ground.run(small_lines, small)]
        large = ground.run(large_lines, submissions)
        smalls.append(ground.run(small_lines, small))
        starts = [ground.run(opening_lines, len(opening)).seconds]
        yield from _times(starts, smalls, large, small, submissions)
        yield from _memory(smalls, large, small, submissions)
        yield from completeness(course, ground.gradebook(large_lines), large_lines, submissions)


def _mixture(distinct: float) -> str:
    total = sum(SHARES.values())
    kinds = ", ".join(f"{count / total:.0%} {kind}" for kind, count in SHARES.items())
    return (
        f"{distinct:.0%} have a syntax tree of their own ({kinds}); the others repeat one of these, half to the letter"
    )


def _times(starts: list[float], smalls: list[Run], large: Run, small: int, count: int) -> Iterator[str]:
    """Yield lines on the time for each submission, without the time that opens every exercise once."""
    start = statistics.median(starts)
    ours = [1000 * (large.seconds - start) / count]
    theirs = [1000 * (run.seconds - start) / small for run in smalls]
    yield measured("start of a batch", starts, "s")
    yield measured(f"judged of {small:,}, the others shared", [run.judged for run in smalls], "")
    yield measured(f"judged of {count:,}, the others shared", [large.judged], "")
    yield measured(f"whole batch of {count:,}", [large.seconds], "s")
    yield measured(f"a submission of {small:,}, start aside", theirs, "ms")
    yield measured(f"a submission of {count:,}, start aside", ours, "ms")
    if min(theirs) <= 0:
        yield "time per submission: too few submissions to tell them from the start"
        return
    yield compared(f"time per submission at {count:,} / at {small:,}", ours * len(theirs), theirs, STEADY)


def _memory(smalls: list[Run], large: Run, small: int, count: int) -> Iterator[str]:
    """Peaks of the whole batches; and of the large one's parts, from the small one's size on, which ought to be flat.

    What a hostile submission takes for a moment counts, up to its limit; a batch of the small size holds few of them.
    """
    peaks = [run.sampler.peak() for run in smalls]
    yield measured(f"peak memory of all processes at {small:,}", peaks, "MB")
    yield measured(f"peak memory of all processes at {count:,}", [large.sampler.peak()], "MB")
    yield compared(f"peak memory at {count:,} / at {small:,}", [large.sampler.peak()] * len(peaks), peaks, FLAT)
    width = (count - small) / PARTS
    parts = {least: large.sampler.between(least, least + width) for least in (small + n * width for n in range(PARTS))}
    parts = {least: held for least, held in parts.items() if held}
    for least, held in parts.items():
        median = f"{statistics.median(held):,.0f}"
        yield measured(f"  memory from {least:,.0f} verdicts on: median {median}, peak", [max(held)], "MB")
    peak, *later = map(max, parts.values()) if parts else (0.0,)
    if later:
        yield compared(f"peak memory of later parts / of the first, from {small:,} on", [max(later)], [peak], FLAT)
