"""Every process that holds checks and references keeps others from reading its memory."""

import subprocess
import sys

import pytest

from grader.processes.worker_source import CAN_FORK
from tests.support.paths import ROOT
from tests.support.sampling import others_slow

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="the kit hides a process's memory only on Linux")

BEGINNINGS = {
    "doctor": "from grader.commands.doctor import examine_machine; examine_machine(course)",
    "pytest --subject": (
        "from _pytest.config import _prepareconfig; _prepareconfig(['-s', '--subject', 'attention.py'])._do_configure()"
    ),
    "prove": "from grader.processes.task_pool import _prepare; _prepare()",
    "judging": "from grader.verdict.judge import open_judge\nwith open_judge(course): pass",
}
IS_HIDDEN = """
import ctypes
from pathlib import Path
from grader.spec.paths import Course
course = Course(root=Path.cwd())
{}
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.parametrize("begin", others_slow(BEGINNINGS.values()), ids=BEGINNINGS.keys())
def test_its_memory_is_closed_to_other_processes(begin: str) -> None:
    script = IS_HIDDEN.format(begin)
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
