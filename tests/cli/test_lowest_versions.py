"""The kit grades with the lowest supported version of each direct dependency, and with torch 2.13.

One command tries another version of torch in an environment of its own, which may download some gigabytes:

    TRY_TORCH=2.15.0 python -m pytest -m slow tests/cli/test_lowest_versions.py
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.paths import ROOT

BOUND = re.compile(r"^([A-Za-z0-9_.-]+)>=([0-9.]+)")
EXACT = {"torch": f"torch=={os.environ.get('TRY_TORCH', '2.13.0')}"}
"""The version of torch to install. Only 2.13.0 has a build without some gigabytes for graphics cards."""

SMALL = ("tests/unit/verdict", "tests/unit/submission", "tests/verdicts/test_variants.py")
"""Tests that go once through all that a verdict takes, and need nothing but the kit's own dependencies."""


def lowest(extras: tuple[str, ...]) -> list[str]:
    """The direct dependencies, each at its lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(each for name in extras for each in project["optional-dependencies"][name])]
    bounds = [match.groups() for each in wanted if (match := BOUND.match(each))]
    assert len(bounds) == len(wanted), "a dependency without a lower bound"
    return [EXACT.get(name, f"{name}=={version}") for name, version in bounds]


@pytest.mark.slow
def test_the_lowest_versions_grade_and_confine(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path)], check=True)
    python = tmp_path / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q"]  # and compiled: a worker may write nothing, and has seconds
    subprocess.run([*install, *lowest(("author", "cluster"))], check=True)
    subprocess.run([*install, "--no-deps", "-e", str(ROOT)], check=True)
    file = ROOT / "solutions" / "exercise_03" / "attention.py"
    command = [str(python), "-m", "grader", "exercise_03", "--file", str(file), "--json", "--strict"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    verdict = json.loads(done.stdout)
    assert verdict["outcome"] == "fixed"
    assert all(verdict["isolation"].values())
    tests = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--lanes", "1", *SMALL]
    done = subprocess.run(tests, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
