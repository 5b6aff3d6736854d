"""The hosts on which the corpus of attacks is judged, and the evaluation of a run."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import msgspec
from msgspec import Struct

from tests.support.attack_run import AttackResult, Run
from tests.support.corpus import Expected, read_corpus
from tests.support.paths import HOST, ROOT

SECONDS = 900


class Host(Struct, frozen=True):
    """The layers that a host lacks, and the seed of its run.

    A test run tries one in `one_in` of the attacks that no layer guards against, and one in `guarded_one_in` of the
    others. If it is `quick`, it skips attacks that are slow or wait for deadlines. `tests/benchmarks/attacks.py` tries
    every attack.
    """

    lacks: tuple[str, ...] = ()
    seed: int = 0
    one_in: int = 1
    guarded_one_in: int = 1
    quick: bool = False


HOSTS = {
    "all layers": Host(seed=7),
    "no namespaces": Host(("namespaces",), seed=8, one_in=10),
    "no Landlock": Host(("landlock",), seed=9, one_in=10, quick=True),
    "no seccomp": Host(("seccomp",), seed=10, one_in=10, quick=True),
    "separation only": Host(("landlock", "seccomp", "namespaces"), seed=11, one_in=10, quick=True),
}


SAMPLE = "all layers, a sample"
TRIED = {SAMPLE: Host(seed=7, one_in=20, guarded_one_in=8, quick=True), **HOSTS}
"""The runs of the tests. The quick tests run only the sample."""


def run_on(name: str, *, is_whole: bool) -> Run:
    """Judge the corpus on a host. Attacks that wait for deadlines run in a process beside the others."""
    host = TRIED[name]
    options = [f"--seed={host.seed}"]
    if not is_whole:
        options += [f"--one-in={host.one_in}", f"--guarded-one-in={host.guarded_one_in}"]
    if "seccomp" in host.lacks and os.geteuid() != 0:
        options.append("--spare=signals")  # nothing stops signals on that host, so these attacks would end the run
    parts = [["--quick"]] if host.quick and not is_whole else [[], ["--hanging"]]
    with ThreadPoolExecutor(len(parts)) as running:
        return joined(list(running.map(lambda part: _run_part(host, [*options, *part]), parts)))


def joined(runs: list[Run]) -> Run:
    """Join the results of the runs on one host."""
    return Run(
        results=[result for run in runs for result in run.results],
        isolation={layer: all(run.isolation[layer] for run in runs) for layer in runs[0].isolation},
        changed={key: names for run in runs for key, names in run.changed.items()},
        processes=[name for run in runs for name in run.processes],
        descriptors=[name for run in runs for name in run.descriptors],
        messages=[name for run in runs for name in run.messages],
        seconds=max(run.seconds for run in runs),
    )


def _run_part(host: Host, options: list[str]) -> Run:
    """Judge a part of the corpus in a session of its own, because attacks signal process groups."""
    inside = [sys.executable, "-m", "tests.support.attack_run", *options]
    command = [sys.executable, str(HOST), "--without", ",".join(host.lacks), "--", *inside]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=SECONDS, start_new_session=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return msgspec.json.decode(done.stdout, type=Run)


def wrong(run: Run) -> dict[str, str]:
    """Return the attacks whose verdicts are not as expected, with a description of each verdict."""
    expected = _expected()
    return {
        result.key: _describe(result) for result in run.results if not _is_as_expected(result, expected[result.key])
    }


def forged(run: Run) -> dict[str, str]:
    """Return the attacks whose verdicts are better than they may be, without those that `copied` returns."""
    expected, fair = _expected(), copied(run)
    better = [result for result in run.results if _is_better(result, expected[result.key]) and result.key not in fair]
    return {result.key: _describe(result) for result in better}


def copied(run: Run) -> list[str]:
    """Return the attacks that copied the reference. This is allowed if the verdict reports that files are open."""
    expected = _expected()
    return [
        result.key
        for result in run.results
        if _is_better(result, expected[result.key])
        and expected[result.key].where_files_are_open == result.outcome
        and not result.isolation["filesystem"]
    ]


def _is_as_expected(result: AttackResult, expected: Expected) -> bool:
    has_words = expected.words() in result.text
    is_right = result.outcome == expected.outcome and has_words and not result.leaks and not result.lost
    return is_right and result.score <= expected.bound() and (expected.score is None or result.score == expected.score)


def _is_better(result: AttackResult, expected: Expected) -> bool:
    return result.score > expected.bound() or (result.outcome == "fixed" and expected.outcome != "fixed")


@cache
def _expected() -> dict[str, Expected]:
    return {attack.key: attack.expected for attack in read_corpus()}


def _describe(result: AttackResult) -> str:
    return result.lost or f"{result.outcome} {result.score} {'LEAK ' if result.leaks else ''}{result.text[:300]}"
