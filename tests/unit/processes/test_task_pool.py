"""The processes of an author's tasks end with the process that started them."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.paths import ROOT

STARTING = """
import os, time
from grader.processes.task_pool import TaskPool

def wait(source):
    os.write(1, f"{os.getpid()}\\n".encode())  # one write, because two processes share the pipe
    time.sleep(60)

if __name__ == "__main__":
    pool = TaskPool(2)
    for _ in range(2):
        pool.submit(wait)
    time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux does the kernel end a process when its parent ends")
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_of_a_pool_outlives_the_process_that_was_killed(tmp_path, ending):
    script = tmp_path / "starting.py"
    script.write_text(STARTING, encoding="utf-8")
    command, settings = [sys.executable, str(script)], {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=settings) as started:
        assert started.stdout is not None
        pids = [int(started.stdout.readline()) for _ in range(2)]
        started.send_signal(ending)
        started.wait()
    end = time.monotonic() + 20
    while (left := [pid for pid in pids if _is_alive(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
