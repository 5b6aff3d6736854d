"""What importing torch leaves out, and that it stays left out where checks of the course run."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

RESOLVED = """
import inspect, os
resolve, asked = os.path.realpath, []
os.path.realpath = lambda *given, **more: asked.append(given) or resolve(*given, **more)
from grader.sandbox.torch_import import import_torch
before = inspect.getmodule
import_torch()
assert inspect.getmodule is before
print(len(asked))
"""
MOST_RESOLVED = 50
"""Paths that torch and the libraries beside it resolve for themselves; for `inspect` it would be one a module."""


def test_importing_torch_does_not_resolve_the_path_of_every_module() -> None:
    done = subprocess.run([sys.executable, "-c", RESOLVED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < MOST_RESOLVED


@pytest.mark.parametrize(
    "file", sorted((ROOT / "tests" / "hidden").glob("*/test_*.py")), ids=lambda file: file.parent.name
)
def test_no_hidden_test_makes_a_generator_which_takes_half_a_second_to_import(file) -> None:
    assert "Generator" not in file.read_text(encoding="utf-8")
