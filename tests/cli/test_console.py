"""A process gets ready to show a verdict while another one judges: the verdict is shown once, whatever happens."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.verdict.judge import CAN_FORK
from tests.support.hostile import relatives
from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="nothing is forked here")

SHOWING = """
import os
from grader.console import getting_ready
from grader.exercise import load_exercise
from grader.course import find_course
from grader.grading import _ungraded
from grader.submission import Unreadable
from pathlib import Path

course = find_course(Path.cwd())
verdict = _ungraded(load_exercise(course.description("exercise_03")), "a.py", 1, Unreadable("nobody knows why"))
judging = os.getpid()

def prepare():
    {preparing}
    return lambda verdict: print("here" if os.getpid() == judging else "beside", verdict.reason)

with getting_ready(prepare) as show:
    {judging}
print("waited")
"""


def shown(preparing: str, judging: str) -> tuple[int, str]:
    text = SHOWING.format(preparing=preparing, judging=judging)
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout


def test_a_verdict_is_shown_beside() -> None:
    assert shown("pass", "show(verdict)") == (0, "beside nobody knows why\nwaited\n")


@pytest.mark.parametrize("end", ["os._exit(3)", "raise OSError", "os.kill(os.getpid(), 9)", "import nothing_at_all"])
def test_where_getting_ready_fails_beside_it_is_shown_here(end: str) -> None:
    assert shown(f"if os.getpid() != judging: {end}", "show(verdict)") == (0, "here nobody knows why\nwaited\n")


def test_where_there_is_no_verdict_nothing_is_shown() -> None:
    assert shown("pass", "pass") == (0, "waited\n")
    code, text = shown("pass", "raise KeyboardInterrupt")
    assert (code, text) == (-signal.SIGINT, "")


def test_ctrl_c_shows_nothing_and_leaves_nothing() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "exercise_03"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not (family := relatives(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    for each in (*family, process.pid):  # as a terminal does
        os.kill(each, signal.SIGINT)
    told, _ = process.communicate(timeout=30)
    assert (process.returncode, told.strip()) == (130, b"")
    assert not any(Path(f"/proc/{each}").exists() for each in family)
