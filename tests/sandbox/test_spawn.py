"""Where forking is not possible, a worker is a new interpreter; the verdict is the same."""

import json
import shutil
import sys
import time
from pathlib import Path

import pytest
from msgspec import structs

from grader.errors import KitError
from grader.processes.spawner import Spawner
from grader.spec.exercise import Limits
from grader.submission.choice import choice_of
from grader.verdict.judging_files import judge_file
from grader.verdict.verdict import Verdict
from tests.support.commands import run_program
from tests.support.hostile import at_import, in_forward, reference, running_with, starter
from tests.support.paths import ROOT

EXIT = in_forward("if x.dtype == torch.float64: os._exit(5)", reference())
"""Dies in a single check, so that one worker more is spawned."""


def essence(verdict: Verdict) -> tuple:
    """All of a verdict but its times, and pictures, whose numbers are not rounded."""
    seen = [
        (outcome.check, outcome.status, outcome.finding and structs.replace(outcome.finding, picture=None))
        for outcome in verdict.checks
    ]
    return verdict.outcome, verdict.reason, verdict.score, verdict.defects, verdict.regressions, seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "score"),
    [(starter(), 0), (reference(), 10), (EXIT, 7)],
    ids=["starter", "reference", "os._exit"],
)
def test_a_spawned_worker_gives_the_verdict_of_a_forked_one(course, tmp_path, source: str, score: float) -> None:
    file = tmp_path / "attention.py"
    file.write_text(source, encoding="utf-8")
    forked, spawned = (
        judge_file(course, "exercise_03", choice_of(file), seed=11, spawn=spawn) for spawn in (False, True)
    )
    assert essence(spawned) == essence(forked)
    assert spawned.score == score


@pytest.mark.slow
def test_an_exit_at_import_is_named_and_leaves_no_process(tmp_path) -> None:
    file = tmp_path / "attention.py"
    daemon = "if os.fork() == 0:\n        os.closerange(3, 256)\n        time.sleep(600)"
    lines = f"try:\n    {daemon}\nexcept PermissionError: pass\nos._exit(5)"
    file.write_text(at_import(lines), encoding="utf-8")
    before = running_with("grader.sandbox")
    done = run_program("exercise_03", "--spawn", "--json", "--file", str(file), cwd=ROOT)
    verdict = json.loads(done.stdout)
    assert (done.returncode, verdict["outcome"]) == (1, "not_gradable")
    assert "ended the process with exit code 5" in verdict["reason"]
    until = time.monotonic() + 30  # another lane's workers end by themselves; the daemon would not
    while not (left := running_with("grader.sandbox")) <= before and time.monotonic() < until:
        time.sleep(0.1)
    assert left <= before


def test_a_worker_that_cannot_start_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(KitError, match="did not start: it ended the process with exit code 1"):
        Spawner().start(Limits())


def test_a_worker_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no interpreter is left here' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(KitError, match=r"ended the process with exit code 1 \(no interpreter is left here\)$"):
        Spawner().start(Limits())
