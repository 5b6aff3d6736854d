"""Judge thousands of hostile submissions, with one examiner for each core, and check that no resource grows.

    python -m tests.benchmarks.soak [COUNT]

Prints a line of figures every 500 verdicts. Exits with 1 if processes, descriptors, temporary files or memory grew, or
an examiner died.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path

from msgspec import Struct

from grader.errors import KitError
from grader.processes.pool import ExaminerPool
from grader.spec.paths import Course
from grader.submission import Submission, Unreadable, read_submission
from grader.verdict.pooled_judge import PooledJudge
from tests.support.attack_makers import MAKERS
from tests.support.attack_run import AMPLE, EXERCISE, copy_course
from tests.support.corpus import Attack, read_corpus
from tests.support.hostile import relatives

ROUND = 500
"""Verdicts between two measurements."""

MAX_GROWTH_MB = 48
"""Megabytes by which the least memory of all examiners, or of their descendants, may grow from the first half to the
second. An allocator keeps a forged reply of tens of megabytes for some rounds."""

SETTLE_SECONDS = 1.0
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20) if hasattr(os, "sysconf") else 0.0


class Look(Struct, frozen=True, kw_only=True):
    """The processes, files and memory while nothing is being judged."""

    judged: int
    processes: int
    descriptors: int
    files: int
    examiners_mb: float
    workers_mb: float
    restarts: int

    def line(self, seconds: float) -> str:
        return (
            f"{self.judged:>6} judged in {seconds:6.0f} s: {self.processes} processes, {self.descriptors} descriptors, "
            f"{self.files} temporary files, examiners {self.examiners_mb:.0f} MB, nurseries and workers "
            f"{self.workers_mb:.0f} MB, {self.restarts} restarts"
        )


class Lane:
    """One examiner and its submissions."""

    def __init__(self, pool: ExaminerPool, course: Course, submissions: Iterator[Submission]) -> None:
        self._pool = pool
        self._judge = PooledJudge(pool, course)
        self._submissions = submissions
        self.restarts = 0
        self.lost = 0

    def judge(self, count: int) -> None:
        for submission in islice(self._submissions, count):
            before = self.process()
            try:
                self._judge.judge(EXERCISE, submission, "attention.py", 1)
            except KitError as error:
                self.lost += 1
                print(f"lost: {error}", file=sys.stderr)
            self.restarts += before not in (None, self.process())

    def process(self) -> int | None:
        running = [each._process for each in self._pool._idle if each._process]
        return running[0].pid if running else None


class Soak:
    """All lanes, with their resources."""

    def __init__(self, lanes: list[Lane], folder: Path) -> None:
        self.lanes = lanes
        self._folder = folder
        self._judged = 0

    def judge(self, count: int) -> None:
        shares = [count // len(self.lanes) + (number < count % len(self.lanes)) for number in range(len(self.lanes))]
        with ThreadPoolExecutor(len(self.lanes)) as pool:
            list(pool.map(lambda lane, share: lane.judge(share), self.lanes, shares))
        self._judged += count

    def look(self) -> Look:
        time.sleep(SETTLE_SECONDS)  # the next worker is being made ready
        examiners = {process for lane in self.lanes if (process := lane.process()) is not None}
        others = relatives(os.getpid()) - examiners
        return Look(
            judged=self._judged,
            processes=len(examiners | others),
            descriptors=sum(map(_descriptors, {os.getpid(), *examiners, *others})),
            files=sum(len(files) + len(folders) for _, folders, files in os.walk(self._folder)),
            examiners_mb=sum(map(_resident_mb, examiners)),
            workers_mb=sum(map(_resident_mb, others)),
            restarts=sum(lane.restarts for lane in self.lanes),
        )


def soak(count: int, tell=print) -> list[str]:
    """Judge `count` submissions. Return the resources that grew, in words."""
    started = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        root, temporary = folder / "course", folder / "tmp"
        temporary.mkdir()
        copy_course(root, "no canary", AMPLE)
        stack.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        stack.callback(os.environ.__setitem__, "TMPDIR", os.environ.get("TMPDIR", tempfile.gettempdir()))
        tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
        submissions = list(_quick_submissions(folder))
        lanes = []
        for number in range(os.cpu_count() or 1):
            pool = stack.enter_context(ExaminerPool())
            lanes.append(
                Lane(pool, Course(root=root), islice(cycle(submissions), number * len(submissions) // 2, None))
            )
        under = Soak(lanes, temporary)
        looks = []
        size = min(ROUND, max(count // 3, 1))
        for done in range(0, count, size):
            under.judge(min(size, count - done))
            looks.append(under.look())
            tell(looks[-1].line(time.monotonic() - started))
        lost = sum(lane.lost for lane in lanes)
    return _grown(looks) + [f"{lost} verdicts were lost"] * bool(lost)


def _grown(looks: list[Look]) -> list[str]:
    """Return the resources that grew between the first and the last measurement, in words."""
    found = []
    for name in ("processes", "descriptors", "files", "restarts"):
        before, after = getattr(looks[0], name), getattr(looks[-1], name)
        if after > (0 if name in ("files", "restarts") else before):
            found.append(f"{name} grew from {before} to {after}")
    half = max(len(looks) // 2, 1)
    for name in ("examiners_mb", "workers_mb"):
        before, after = (min(getattr(look, name) for look in part) for part in (looks[:half], looks[half:] or looks))
        if after - before > MAX_GROWTH_MB:
            found.append(f"{name} grew from {before:.0f} to {after:.0f}")
    return found


def _quick_submissions(folder: Path) -> Iterator[Submission]:
    """Return the attacks of the corpus that become submissions and do not wait for a deadline."""
    for number, attack in enumerate(read_corpus()):
        if not attack.expected.hangs and not attack.expected.slow:
            read = _read(attack, folder / f"{number}" / attack.name)
            if isinstance(read, Submission):
                yield read


def _read(attack: Attack, path: Path) -> Submission | Unreadable:
    path.parent.mkdir()
    if attack.key in MAKERS:
        MAKERS[attack.key](path)
    else:
        path.write_bytes(attack.source())
    return read_submission(path, path.name, inside=path.parent)


def _descriptors(process: int) -> int:
    """Return the number of open descriptors of a process; 0 if it has ended, or cannot be read."""
    try:
        return len(os.listdir(f"/proc/{process}/fd"))
    except OSError:
        return 0


def _resident_mb(process: int) -> float:
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * PAGE_MB
    except OSError:
        return 0.0


if __name__ == "__main__":
    grown = soak(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, lambda line: print(line, flush=True))
    for line in grown or ["Nothing grew."]:
        print(line)
    sys.exit(1 if grown else 0)
