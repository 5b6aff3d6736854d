"""Importing torch changes nothing in torch or in Python, apart from the compiler."""

import subprocess
import sys

from tests.support.paths import ROOT

UNCHANGED = """
import inspect, os, sys
before = inspect.getmodule
from grader.sandbox.torch_import import import_torch
import_torch()
assert inspect.getmodule is before
import torch
assert torch.Generator is torch._C.Generator
assert type(torch._meta_registrations) is type(sys)
distances = torch.cdist(torch.ones(2, 3, device="meta"), torch.ones(4, 3, device="meta"))
print(tuple(distances.shape), len(os.listdir("/proc/self/task")), sys.meta_path == original)
"""


def test_torch_is_whole_after_its_import() -> None:
    program = f"import sys; original = list(sys.meta_path)\n{UNCHANGED}"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("(2, 4) 1 True\n", "")
