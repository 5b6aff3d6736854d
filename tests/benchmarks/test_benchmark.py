"""Every part of the benchmark runs at its smallest size, agrees with its references, and leaves nothing behind."""

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PARTS = ("single", "warm", "watch", "notebook", "batch", "cores", "scale", "unordered", "profile")
"""All but `peers`, which are not installed beside the kit."""

SMALLEST = ("--runs", "1", "--submissions", "4", "--jobs", "1", "--exercises", "exercise_03")

MODULES = sorted({each.stem for each in Path(__file__).parent.glob("[a-z]*.py")} - {"pytest_peer"})
"""All but the file that pytest runs with its own environment."""


@pytest.mark.parametrize("name", MODULES)
def test_every_module_of_the_benchmark_can_be_imported(name: str) -> None:
    importlib.import_module(f"tests.benchmarks.{name}")


@pytest.mark.slow
def test_every_part_runs_and_agrees_with_what_it_compares_with() -> None:
    command = [sys.executable, "-m", "tests.benchmarks", *PARTS, *SMALLEST]
    with tempfile.TemporaryDirectory() as folder:  # the path of a socket in it is short, unlike one in tmp_path
        environment = os.environ | {"TMPDIR": folder}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
        left = os.listdir(folder)
    assert done.returncode == 0, done.stderr
    assert "not run" not in done.stdout
    assert "bare fork and kit disagree on 0 of 4 submissions" in done.stdout
    assert "4 of 4 have their verdict, 0 of them without checks: complete" in done.stdout
    assert "judged again by themselves: 4, otherwise than in the gradebook: 0" in done.stdout
    assert left == []
