"""The five hosts that the corpus is judged on, and how a run on one is read."""

import subprocess
import sys
from pathlib import Path

import msgspec
from attack_run import Run, Seen
from corpus import Expected, read_corpus
from msgspec import Struct

TESTS = Path(__file__).resolve().parent
SECONDS = 600


class Host(Struct, frozen=True):
    """What a host lacks, the seed it is tried with, and whether attacks that wait for a deadline are left out."""

    lacks: tuple[str, ...] = ()
    seed: int = 7
    quick: bool = False


HOSTS = {
    "all layers": Host(),
    "no namespaces": Host(("namespaces",), seed=8),
    "no Landlock": Host(("landlock",), seed=9, quick=True),
    "no seccomp": Host(("seccomp",), seed=10, quick=True),
    "separation only": Host(("landlock", "seccomp", "namespaces"), seed=11, quick=True),
}


def run_on(name: str, *families: str) -> Run:
    """A run of the corpus on a host, in a session of its own: attacks aim at process groups."""
    host = HOSTS[name]
    inside = [sys.executable, str(TESTS / "attack_run.py"), f"--seed={host.seed}", *families]
    command = [sys.executable, str(TESTS / "host.py"), "--without", ",".join(host.lacks), "--", *inside]
    if host.quick:
        command.append("--quick")
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, start_new_session=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return msgspec.json.decode(done.stdout, type=Run)


def wrong(run: Run) -> dict[str, str]:
    """Verdicts that are not as expected, with what was seen."""
    expected = _expected()
    return {seen.key: _describe(seen) for seen in run.seen if not _is_as_expected(seen, expected[seen.key])}


def forged(run: Run) -> dict[str, str]:
    """Verdicts that are better than they may be; those that `copied` names are not among them."""
    expected, fair = _expected(), copied(run)
    better = [seen for seen in run.seen if _is_better(seen, expected[seen.key]) and seen.key not in fair]
    return {seen.key: _describe(seen) for seen in better}


def copied(run: Run) -> list[str]:
    """Attacks that read the reference and became it, where the verdict says that files were open."""
    expected = _expected()
    return [
        seen.key
        for seen in run.seen
        if _is_better(seen, expected[seen.key])
        and expected[seen.key].where_files_are_open == seen.outcome
        and not seen.isolation["filesystem"]
    ]


def _is_as_expected(seen: Seen, expected: Expected) -> bool:
    is_right = seen.outcome == expected.outcome and expected.says in seen.text and not seen.leaks and not seen.lost
    return is_right and seen.score <= expected.bound() and (expected.score is None or seen.score == expected.score)


def _is_better(seen: Seen, expected: Expected) -> bool:
    return seen.score > expected.bound() or (seen.outcome == "fixed" and expected.outcome != "fixed")


def _expected() -> dict[str, Expected]:
    return {attack.key: attack.expected for attack in read_corpus()}


def _describe(seen: Seen) -> str:
    return seen.lost or f"{seen.outcome} {seen.score} {'LEAK ' if seen.leaks else ''}{seen.text[:300]}"
