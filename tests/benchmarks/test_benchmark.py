"""The benchmark at its smallest: every part runs, and says what it measured beside what."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

SMALLEST = ("--runs", "1", "--submissions", "4", "--jobs", "1", "--exercises", "exercise_03")
FIGURE = r"-?[\d.,]+ \(-?[\d.,]+ to -?[\d.,]+\)"


def run(folder: Path, *parts: str) -> str:
    """What the command prints; it keeps its temporary files in the folder."""
    options = [*SMALLEST, "--profile-file", str(folder / "profile.txt")]
    command = [sys.executable, "-m", "tests.benchmarks", *parts, *options]
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Every part but the peers, which are not installed beside the kit."""
    folder = tmp_path_factory.mktemp("benchmark")
    return run(folder, "single", "watch", "notebook", "batch", "cores", "scale", "profile"), folder


@pytest.mark.parametrize(
    ("ratio", "bound"),
    [
        ("grade a fix / import torch", "<= 0.70"),
        ("save to verdict / import torch", "<= 0.08"),
        ("batch / pytest, start aside", ">= 40.00"),
        ("batch / bare fork, start aside", ">= 0.80"),
        ("two cores / one core, start included", ">= 1.80"),
        ("peak memory at 4 / at 2", "<= 1.10"),
    ],
)
def test_each_ratio_is_told_with_its_spread_beside_its_target(told: tuple[str, Path], ratio: str, bound: str) -> None:
    assert re.search(rf"^{re.escape(ratio)} +{FIGURE}   target {bound}: (met|NOT MET)$", told[0], re.MULTILINE), told[0]


def test_time_per_submission_is_told_or_that_it_cannot_be(told: tuple[str, Path]) -> None:
    told_beside_target = rf"time per submission at 4 / at 2 +{FIGURE}   target <= 1.10: (met|NOT MET)"
    too_few = "time per submission: too few submissions to tell them from the start"
    assert re.search(rf"^({told_beside_target}|{too_few})$", told[0], re.MULTILINE), told[0]


def test_a_notebooks_first_verdict_is_told_and_the_warm_ones(told: tuple[str, Path]) -> None:
    assert re.search(rf"^the first +{FIGURE} s\nwarm \(at most 0\.15\) +{FIGURE} s$", told[0], re.MULTILINE), told[0]


def test_no_part_is_left_out(told: tuple[str, Path]) -> None:
    assert "not run" not in told[0]


def test_the_bare_fork_sees_what_the_kit_sees(told: tuple[str, Path]) -> None:
    assert "bare fork and kit disagree on 0 of 4 submissions" in told[0]


def test_the_gradebook_of_the_large_batch_is_complete(told: tuple[str, Path]) -> None:
    assert "4 of 4 have their verdict, 0 of them without checks: complete" in told[0]
    assert "judged again by themselves: 4, otherwise than in the gradebook: 0" in told[0]


def test_the_profile_names_the_top_five_costs_of_both_processes(told: tuple[str, Path]) -> None:
    profile = (told[1] / "profile.txt").read_text(encoding="utf-8")
    for process in ("the examiner's process", "the batch's process"):
        after = profile.partition(f"{process}")[2].partition("of these\n")[2].split("\n")[:5]
        assert [bool(re.fullmatch(r" +[\d.]+    .+", line)) for line in after] == [True] * 5, profile


def test_nothing_is_left_behind(told: tuple[str, Path]) -> None:
    assert [path.name for path in told[1].iterdir()] == ["profile.txt"]


def test_peers_that_are_not_there_are_named(tmp_path: Path) -> None:
    said = run(tmp_path, "peers", "--peers-venv", str(tmp_path / "none"))
    for peer in ("check50", "otter-grader", "nbgrader"):
        assert f"{peer}: not run: {tmp_path / 'none/bin/python'} cannot be started" in said
