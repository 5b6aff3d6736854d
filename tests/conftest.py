"""What the kit's own tests share."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from grader.processes.worker_source import CAN_FORK, has_threads
from grader.sandbox.torch_import import import_torch
from grader.spec.paths import Course
from grader.verdict.verdict import Verdict
from tests.support.commands import Done, run_fork, run_program
from tests.support.forgetting import forget_descriptions
from tests.support.paths import ROOT

REMOVAL_SECONDS = 1.0
"""`Thread.join` returns a moment before the thread is gone from /proc/self/task."""

pytest_plugins = ["tests.support.selection", "tests.support.lanes"]

import_torch()  # before a test module does: torch is then single-threaded, and workers cost half as much

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each of some hundred processes compiles the kit

os.environ["GRADER_WARM"] = "0"  # but in the tests of the warm process

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background: what is started here must heed it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write golden files anew, to be reviewed as a diff")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let each test begin like a new process."""
    forget_descriptions()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Wait until the kernel has removed the threads that a test joined: the next test may fork a nursery."""
    end = time.monotonic() + REMOVAL_SECONDS
    while has_threads() and threading.active_count() == 1 and time.monotonic() < end:
        time.sleep(0.001)


@pytest.fixture(scope="session")
def course() -> Course:
    return Course(root=ROOT)


def _copy_unless_gone(source: str, target: str) -> None:
    """Copy a file, unless another process has replaced this cache by a newer one."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target)


@pytest.fixture
def own_course(tmp_path: Path) -> Course:
    """A copy of the course that a test may change."""
    for folder in ("exercises", "solutions", "tests/hidden", ".grader/proven", ".grader/meanings"):
        if (ROOT / folder).is_dir():
            shutil.copytree(ROOT / folder, tmp_path / folder, copy_function=_copy_unless_gone)
    return Course(root=tmp_path)


@pytest.fixture(scope="session")
def run_cli() -> Callable[..., Done]:
    """Run `python -m grader ...` from a fork of the tests; `run_program` starts an interpreter for it."""
    if not CAN_FORK:
        return run_program
    import_torch(for_many=True)
    return run_fork


@pytest.fixture
def terminal() -> Callable[[Course, list[str], str], str]:
    """What `python -m grader ...` writes to a terminal of its own in which somebody types."""

    def run(course: Course, arguments: list[str], typed: str) -> str:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "grader", *arguments]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
        with subprocess.Popen(command, cwd=course.root, stdin=theirs, stdout=theirs, stderr=theirs, env=environment):
            os.close(theirs)
            os.write(ours, typed.encode())
            told = b""
            try:
                while read := os.read(ours, 65536):
                    told += read
            except OSError:  # the terminal has gone with its last program
                pass
        os.close(ours)
        return told.decode("utf-8", "replace")

    return run


@pytest.fixture(scope="session")
def judge_text() -> Iterator[Callable[..., Verdict]]:
    """Judge source texts in this process, over one nursery: `judge_text("exercise_03", source)`."""
    from tests.support.judging import Judge

    judge = Judge(Course(root=ROOT))
    yield judge
    judge.close()
