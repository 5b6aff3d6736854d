"""What the kit's own tests share."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.course import Course
from grader.verdict import Verdict

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def course() -> Course:
    return Course(ROOT)


@pytest.fixture(scope="session")
def run_cli() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `python -m grader ...` as a person would."""

    def run(*arguments: str, cwd: Path = ROOT, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "grader", *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)

    return run


@pytest.fixture(scope="session")
def judge_text() -> Iterator[Callable[..., Verdict]]:
    """Judge source texts in this process, over one nursery: `judge_text("exercise_03", source)`."""
    from judging import Judge

    judge = Judge(Course(ROOT))
    yield judge
    judge.close()
