"""The command line interrupted, or its terminal closed: nothing is shown, and nothing is left."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from grader.processes.worker_source import CAN_FORK
from tests.support.hostile import ended, relatives
from tests.support.paths import ROOT
from tests.support.sampling import others_slow

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="workers are forked only on Linux")


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
        with contextlib.suppress(ProcessLookupError):  # the other processes have ended by now
            os.kill(each, signal.SIGINT)
    told, _ = process.communicate(timeout=30)
    assert (process.returncode, told.strip()) == (130, b"")
    assert ended(family)


@pytest.mark.parametrize("encoding", others_slow(["cp1252", "cp437", "latin-1", "gbk", "utf-8"]))
def test_a_stream_gets_the_characters_that_it_can_encode_and_plainer_ones_for_the_others(own_course, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)}

    def output(*arguments):
        command = [sys.executable, "-m", "grader", *arguments]
        done = subprocess.run(
            command, cwd=own_course.root, env=environment, capture_output=True, timeout=60, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    listed, page, report = output(), output("exercise_03"), output("exercise_03", "--json")
    assert f"{'✗' if encoding == 'utf-8' else 'x'} defect 1" in page.decode(encoding)
    assert "0 of 37 fixed" in listed.decode(encoding)
    assert json.loads(report)["exercise"] == "exercise_03"


SIGNALLED = """
import os, signal, sys, threading
from grader.report.console import ended_by_signals

def closed():
    with ended_by_signals():
        os.kill(os.getpid(), signal.SIGHUP)
    print("goes on")

signal.signal(signal.SIGHUP, signal.SIG_IGN if sys.argv[1] == "nohup" else signal.SIG_DFL)
if sys.argv[1] == "nohup":
    closed()
elif sys.argv[1] == "thread":
    before = signal.getsignal(signal.SIGTERM)
    threading.Thread(target=lambda: ended_by_signals().__enter__()).start()
    print("goes on" if signal.getsignal(signal.SIGTERM) == before else "is heard")
else:
    try:
        closed()
    except Exception as error:
        print(error.exit_code)
"""


@pytest.mark.parametrize(
    ("how", "told"), [("plain", str(128 + signal.SIGHUP)), ("nohup", "goes on"), ("thread", "goes on")]
)
def test_a_closed_terminal_ends_the_command_unless_it_ignores_hangups(how: str, told: str) -> None:
    done = subprocess.run([sys.executable, "-c", SIGNALLED, how], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == told, done.stderr
