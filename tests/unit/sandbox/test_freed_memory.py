"""A new tensor shows no text that was in its memory before."""

import os

import pytest
import torch

from grader.processes.worker_source import CAN_FORK
from grader.sandbox.sandbox import overwrite_freed_memory

SECRET = b"SECRET"
ROUNDS = 200
SIZE = 2400


def tensors_with_a_freed_text() -> int:
    found = 0
    for _ in range(ROUNDS):
        del [bytearray(SECRET * (SIZE // len(SECRET)))][:]
        found += SECRET in torch.empty(SIZE, dtype=torch.uint8).numpy().tobytes()
    return found


@pytest.mark.skipif(not CAN_FORK, reason="needs fork")
def test_freed_memory_is_overwritten() -> None:
    assert tensors_with_a_freed_text() > 0  # what the function is for
    child = os.fork()
    if not child:
        overwrite_freed_memory()
        tensors_with_a_freed_text()
        os._exit(min(tensors_with_a_freed_text(), 100))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
