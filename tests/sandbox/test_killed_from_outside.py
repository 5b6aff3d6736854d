"""If another process kills a worker, or the kernel for lack of memory, the submission is not to blame."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.errors import WorkerKilledError
from grader.spec.exercise import Limits, Seconds
from grader.spec.loading import load_exercise
from grader.verdict.verdict import Result, Verdict
from tests.support.judging import Judge
from tests.support.paths import ROOT
from tests.support.sampling import others_slow

EXERCISE = "exercise_03"
SLOW_TO_LOAD = "import time\ntime.sleep(1.5)\n"
SLOW_TO_CALL = """
import time
_forward, _calls = CausalSelfAttention.forward, []
def _slow(self, *args, **kwargs):
    _calls.append(0)
    time.sleep(0.02 if len(_calls) < 100 else 0)  # two seconds in all, and no check takes too long
    return _forward(self, *args, **kwargs)
CausalSelfAttention.forward = _slow
"""
OLD_ENOUGH = 0.8
"""Seconds after which a worker runs its submission."""

GRADINGS = 200
LATEST = 0.15
"""Seconds after which a worker is mostly at its end."""

PAUSE = 0.01
NEEDS_MEMORY = """
import time
time.sleep(2)  # meanwhile other processes use the memory
filled = bytearray(200_000_000)
del filled
"""
MEMORY = Path("/sys/fs/cgroup/memory")
GROUP_BYTES = 800_000_000
LEFT_BYTES = 100_000_000
TAKES_MEMORY = """
import pathlib, sys, time
group, most, left = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
(group / "cgroup.procs").write_text("0")
def killed():
    return int((group / "memory.oom_control").read_text().split()[-1])
def used():
    return int((group / "memory.usage_in_bytes").read_text())
while used() < 100_000_000:  # torch is not there yet
    time.sleep(0.05)
time.sleep(1)
taken = []
while most - used() > left:
    taken.append(bytearray(b"x" * 10_000_000))
while not killed():
    time.sleep(0.01)
del taken
time.sleep(60)
"""
"""Fills the memory of a group of processes until the kernel kills one of them."""

AMPLE = Limits(seconds=Seconds(load=60, check=60, total=240))
"""The load of the machine does not matter here."""


class Killer(threading.Thread):
    """Kills workers that are forked from now on once they are old enough, so many of them."""

    def __init__(self, most: int, age: float = OLD_ENOUGH) -> None:
        super().__init__(daemon=True)
        self.killed: set[int] = set()
        self._most, self._age = most, age
        self._spared = descendants(os.getpid())
        self._over = threading.Event()

    def run(self) -> None:
        first_seen: dict[int, float] = {}
        while not self._over.wait(PAUSE) and len(self.killed) < self._most:
            for process in descendants(os.getpid()) - self.killed - self._spared:
                age = time.monotonic() - first_seen.setdefault(process, time.monotonic())
                if age >= self._age and len(self.killed) < self._most:
                    os.kill(process, signal.SIGKILL)
                    self.killed.add(process)

    def stop(self) -> None:
        self._over.set()
        self.join()


@pytest.fixture(autouse=True)
def _nursery_is_there(judge_text: Judge) -> None:
    """And has started what it starts once."""
    judge_text(EXERCISE, "import torch\n")


@pytest.mark.parametrize("slow", others_slow([SLOW_TO_LOAD, SLOW_TO_CALL]), ids=["loading", "calling"])
def test_what_was_killed_from_outside_is_judged_once_more(judge_text: Judge, slow: str) -> None:
    killer = Killer(most=1)
    killer.start()
    verdict = judge_text(EXERCISE, judge_text.variant(EXERCISE, frozenset()) + slow, limits=AMPLE)
    killer.stop()
    assert len(killer.killed) == 1
    assert (verdict.outcome, verdict.score) == (Result.FIXED, verdict.max_score)


def test_what_was_killed_before_it_was_confined_is_replaced(judge_text: Judge) -> None:
    killer = Killer(most=1, age=0.0)
    killer.start()
    verdict = judge_text(EXERCISE, judge_text.variant(EXERCISE, frozenset()), limits=AMPLE)
    killer.stop()
    assert len(killer.killed) == 1
    assert (verdict.outcome, verdict.score) == (Result.FIXED, verdict.max_score)


def test_what_is_killed_twice_is_not_judged(judge_text: Judge) -> None:
    killer = Killer(most=2)
    killer.start()
    with pytest.raises(WorkerKilledError, match="its worker was killed from outside"):
        judge_text(EXERCISE, judge_text.variant(EXERCISE, frozenset()) + SLOW_TO_LOAD)
    killer.stop()


@pytest.fixture
def group_of_little_memory() -> Iterator[Path]:
    """A group of processes that may not use more than some of this machine's memory."""
    group = MEMORY / f"tests-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"this host does not allow creating a cgroup with a memory limit: {error}")
    (group / "memory.limit_in_bytes").write_text(str(GROUP_BYTES))
    yield group
    while (group / "cgroup.procs").read_text():
        time.sleep(0.05)
    group.rmdir()


@pytest.mark.slow
def test_what_the_kernel_kills_for_want_of_memory_is_the_worker_and_costs_no_points(
    judge_text: Judge, group_of_little_memory: Path, tmp_path: Path
) -> None:
    file = tmp_path / "attention.py"
    file.write_text(judge_text.variant(EXERCISE, frozenset()) + NEEDS_MEMORY, encoding="utf-8")
    taking = [sys.executable, "-c", TAKES_MEMORY, str(group_of_little_memory), str(GROUP_BYTES), str(LEFT_BYTES)]
    joining = f"echo 0 > {group_of_little_memory}/cgroup.procs"
    grading = f"{joining}; exec {sys.executable} -m grader {EXERCISE} --file {file} --json"
    with subprocess.Popen(taking) as taker:
        done = subprocess.run(["sh", "-c", grading], cwd=ROOT, capture_output=True, text=True, check=False)
        killed = (group_of_little_memory / "memory.oom_control").read_text().split()[-1]
        taker.kill()
    verdict = json.loads(done.stdout)
    assert int(killed) >= 1
    assert (verdict["outcome"], verdict["score"]) == ("fixed", verdict["max_score"]), done.stderr


@pytest.mark.slow
def test_whenever_a_worker_is_killed_from_outside_the_verdict_is_the_same(judge_text: Judge) -> None:
    draw = random.Random(11)
    defects = [defect.id for defect in load_exercise(judge_text.course.description(EXERCISE)).defects]
    texts = [judge_text.variant(EXERCISE, frozenset(defects[:count])) for count in range(len(defects) + 1)]
    undisturbed = [judge_text(EXERCISE, text, limits=AMPLE) for text in texts]
    killed = 0
    for _ in range(GRADINGS):
        index = draw.randrange(len(texts))
        killer = Killer(most=1, age=draw.uniform(0, LATEST))
        killer.start()
        verdict = judge_text(EXERCISE, texts[index], limits=AMPLE)
        killer.stop()
        killed += len(killer.killed)
        assert said(verdict) == said(undisturbed[index])
    print(f"{GRADINGS} gradings, in {killed} of them a worker was killed")
    assert killed > GRADINGS // 2


def said(verdict: Verdict) -> tuple[object, ...]:
    statuses = {defect.id: defect.status for defect in verdict.defects}
    checks = {outcome.check: outcome.status for outcome in verdict.checks}
    return verdict.outcome, verdict.score, statuses, checks, verdict.regressions


def descendants(process: int) -> set[int]:
    found = children(process)
    return found.union(*(descendants(child) for child in found))


def children(process: int) -> set[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return set()
    return {int(each) for each in text.split()}
