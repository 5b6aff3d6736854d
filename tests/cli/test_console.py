"""The command line interrupted: nothing is shown, and nothing is left."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.examiner.worker_source import CAN_FORK
from tests.support.hostile import relatives
from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="nothing is forked here")


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
        with contextlib.suppress(ProcessLookupError):  # what the others have ended by now
            os.kill(each, signal.SIGINT)
    told, _ = process.communicate(timeout=30)
    assert (process.returncode, told.strip()) == (130, b"")
    assert not any(Path(f"/proc/{each}").exists() for each in family)
