"""Judge the corpus on this host, and find what it left behind.

    python -m tests.support.attack_run [--hanging|--quick] [--seed N] [FAMILY ...]

Print the `Run` as one line of JSON. `tests/support/host.py` removes layers of the host.
"""

import argparse
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from grader.errors import KitError
from grader.processes.pool import ExaminerPool
from grader.report.findings import sentence
from grader.sandbox.sandbox import PR_SET_CHILD_SUBREAPER, control_process
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, read_submission
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Verdict, refuse
from tests.support.attack_makers import MAKERS
from tests.support.corpus import Attack, read_corpus
from tests.support.hostile import running_with
from tests.support.listeners import Listeners
from tests.support.paths import ROOT
from tests.support.premises import Premises

EXERCISE = "exercise_03"
GUARDED = ("daemons", "exec", "network", "privileges", "resources", "secrets", "signals", "writing")
"""Families that attack something that a layer protects. The other families attack the examiner, on any host."""

LIMITS = """
limits:
  seconds: {seconds}
  memory_mb: 512
  output_bytes: 100_000
"""
AMPLE, TIGHT = "{load: 20, check: 10, total: 40}", "{load: 1.5, check: 1, total: 2}"
"""Seconds for attacks that end by themselves, even on a busy machine, and for those that wait for a deadline."""

CANARY_TEST = '"""{canary}"""\n\n\ndef test_nothing_that_a_submission_could_fail():\n    pass\n'
DEFECT_TITLE = "\n    title: "
ORDER_SECONDS = 0.5
"""How many seconds the next worker may take to start after a verdict."""

SETTLE_SECONDS = 5.0
"""How many seconds killed processes may take to disappear."""


class AttackResult(Struct, frozen=True, kw_only=True):
    """The outcome of one attack; `lost` is the kit's error if there is no verdict."""

    key: str
    outcome: str = ""
    score: float = 0.0
    text: str = ""
    isolation: dict[str, bool] = {}
    seconds: float = 0.0
    leaks: bool = False
    lost: str = ""


class Run(Struct, frozen=True, kw_only=True):
    """The results of all attacks; the lists name processes, files and descriptors that should not exist."""

    results: list[AttackResult]
    isolation: dict[str, bool]
    changed: dict[str, list[str]]
    processes: list[str]
    descriptors: list[str]
    messages: list[str]
    seconds: float


def run_corpus(attacks: list[Attack], seed: int, seconds: str) -> Run:
    """Judge the attacks one after the other in one examiner process."""
    control_process(PR_SET_CHILD_SUBREAPER, 1)  # a process that escapes the nursery becomes a child of this one
    canary = f"canary-{secrets.token_hex(12)}"
    os.environ["ATTACK_CANARY"] = canary
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        root = Path(folder) / "course"
        copy_course(root, canary, seconds)
        with Listeners(Path(folder)) as listeners, ExaminerPool() as pool:
            ground = _Ground(pool, root, listeners, canary, seed)
            isolation = ground.judge_plain()
            premises, descriptors = Premises(Path(folder)), ground.descriptors()
            ground.words = premises.words
            changed, results = {}, []
            for attack in attacks:
                results.append(ground.judge(attack))
                if names := premises.mend():
                    changed[attack.key] = names
            premises.close()
            held = _more(descriptors, ground.descriptors())
        left = _left_processes(str(root))
    return Run(
        results=results,
        isolation=isolation,
        changed=changed,
        processes=left,
        descriptors=held,
        messages=listeners.heard,
        seconds=time.monotonic() - started,
    )


class _Ground:
    """Judge attacks with one examiner, and find what each left behind."""

    def __init__(self, pool: ExaminerPool, root: Path, listeners: Listeners, canary: str, seed: int) -> None:
        self._pool = pool
        self._judge_in_pool = PooledJudge(pool, Course(root=root))
        self._root = root
        self._exercise = load_exercise(Course(root=root).description(EXERCISE))
        self._listeners = listeners
        self._canary = canary
        self._seed = seed
        self.words: dict[str, str] = {}

    def judge_plain(self) -> dict[str, bool]:
        """Judge the starter and the reference, and check their verdicts. Return the reported isolation."""
        starter = self._judge(self._root / "exercises" / EXERCISE / "attention.py")
        reference = self._judge(self._root / "solutions" / EXERCISE / "attention.py")
        assert (starter.outcome, starter.score) == ("not_fixed", 0.0), starter
        assert (reference.outcome, reference.score) == ("fixed", 10.0), reference
        return starter.isolation

    def judge(self, attack: Attack) -> AttackResult:
        """Judge one attack; a lost examiner is a result too."""
        started = time.monotonic()
        try:
            with self._placed(attack) as path:
                verdict = self._judge(path)
        except KitError as error:
            return AttackResult(key=attack.key, lost=str(error), seconds=time.monotonic() - started)
        sentences = [sentence(check.finding) for check in verdict.checks if check.finding]
        text = "\n".join([verdict.reason or "", *sentences])
        leaks = self._canary.encode() in msgspec.json.encode(verdict)
        return AttackResult(
            key=attack.key,
            outcome=verdict.outcome,
            score=verdict.score,
            text=text,
            isolation=verdict.isolation,
            seconds=time.monotonic() - started,
            leaks=leaks,
        )

    def descriptors(self) -> list[str]:
        """Return the examiner's open descriptors, those for the next worker included; none if they cannot be read."""
        time.sleep(ORDER_SECONDS)
        try:
            folder = Path(f"/proc/{self._process()}/fd")
            return sorted(re.sub(r"\d+", "N", str((folder / name).readlink())) for name in os.listdir(folder))
        except PermissionError:
            return []

    def _process(self) -> int:
        (examiner,) = self._pool._idle
        return examiner._started().pid

    def _judge(self, path: Path) -> Verdict:
        read = read_submission(path, path.name, inside=path.parent)  # as a hand-in is read and refused
        if (refused := refuse(self._exercise, read, path.name, self._seed)) is not None:
            return refused
        assert isinstance(read, Submission)
        return self._judge_in_pool.judge(EXERCISE, read, path.name, self._seed)

    @contextmanager
    def _placed(self, attack: Attack) -> Iterator[Path]:
        """Yield the attack's file in a folder that is removed afterwards."""
        with tempfile.TemporaryDirectory(prefix="attack-") as folder:
            path = Path(folder) / attack.name
            if attack.key in MAKERS:
                MAKERS[attack.key](path)
            else:
                path.write_bytes(self._with_addresses(attack.source()))
            yield path

    def _with_addresses(self, source: bytes) -> bytes:
        """Fill in what an attacker can know: the course's folder, the examiner's process and the open port."""
        known = {
            "@COURSE@": str(self._root),
            "@EXAMINER@": str(self._process()),
            "@PORT@": str(self._listeners.port),
            "@ABSTRACT@": self._listeners.abstract,
            **self.words,
        }
        for word, value in known.items():
            source = source.replace(word.encode(), value.encode())
        return source


def copy_course(root: Path, canary: str, seconds: str) -> None:
    """Copy the exercise, with its own limits, and with the canary in every file that is secret.

    In the description, the canary is also in a value, which a process holds after it has read the file.
    """
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / EXERCISE, root / part / EXERCISE)
    solution, hidden = root / "solutions" / EXERCISE, root / "tests" / "hidden" / EXERCISE
    hidden.mkdir(parents=True)
    (hidden / "test_canary.py").write_text(CANARY_TEST.format(canary=canary), encoding="utf-8")
    limits = LIMITS.format(seconds=seconds)
    for name, addition in (("exercise.yaml", f"{limits}# {canary}\n"), ("attention.py", f"# {canary}\n")):
        with (solution / name).open("a", encoding="utf-8") as file:
            file.write(addition)
    description = solution / "exercise.yaml"
    text = description.read_text(encoding="utf-8")
    assert DEFECT_TITLE in text
    description.write_text(text.replace(DEFECT_TITLE, f"{DEFECT_TITLE}{canary} "), encoding="utf-8")


def _left_processes(word: str) -> list[str]:
    """Return the processes that the examiner, its nursery and its workers left behind, and end them."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (left := _children() | running_with(word)) and time.monotonic() < deadline:
        time.sleep(0.05)
    names = []
    for process in left - {os.getpid()}:
        names.append(Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        os.kill(process, signal.SIGKILL)
    return names


def _children() -> set[int]:
    """Return the living children, and reap those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return set()
    return {int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def _more(before: list[str], after: list[str]) -> list[str]:
    """Return the elements that occur more often in `after` than in `before`."""
    return sorted({name for name in after if after.count(name) > before.count(name)})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*")
    parser.add_argument("--hanging", action="store_true", help="what waits for a deadline, in place of all else")
    parser.add_argument("--quick", action="store_true", help="leave out what takes its time")
    parser.add_argument("--one-in", type=int, default=1, help="of the families that no layer guards against")
    parser.add_argument("--guarded-one-in", type=int, default=1, help="of the others")
    parser.add_argument("--spare", default="", help="a family to leave out")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    attacks = [attack for attack in read_corpus() if not options.families or attack.family in options.families]
    attacks = [attack for attack in attacks if attack.family != options.spare]
    attacks = [attack for attack in attacks if attack.expected.hangs == options.hanging]
    if options.quick:
        attacks = [attack for attack in attacks if not attack.expected.slow]
    attacks = [
        each
        for place, each in enumerate(attacks)
        if (place + options.seed) % (options.guarded_one_in if each.family in GUARDED else options.one_in) == 0
    ]
    run = run_corpus(attacks, options.seed, TIGHT if options.hanging else AMPLE)
    sys.stdout.buffer.write(msgspec.json.encode(run) + b"\n")


if __name__ == "__main__":
    main()
