"""A new tensor shows no text that was in its memory before."""

import subprocess
import sys

import pytest
import torch

from grader.sandbox.sandbox import overwrite_freed_memory
from tests.support.paths import ROOT

SECRET = b"SECRET"
ROUNDS = 200
SIZE = 2400


def tensors_with_a_freed_text() -> int:
    found = 0
    for _ in range(ROUNDS):
        del [bytearray(SECRET * (SIZE // len(SECRET)))][:]
        found += SECRET in torch.empty(SIZE, dtype=torch.uint8).numpy().tobytes()
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc overwrites freed memory")
def test_freed_memory_is_overwritten() -> None:
    """In a new interpreter: what a freed block was used for before depends on all earlier tests."""
    done = subprocess.run([sys.executable, "-m", __name__], cwd=ROOT, capture_output=True, text=True, check=True)
    shown_before, shown_after = map(int, done.stdout.split())
    assert shown_before > 0, "without the function, freed texts are seen"
    assert shown_after == 0


if __name__ == "__main__":
    shown = tensors_with_a_freed_text()
    overwrite_freed_memory()
    tensors_with_a_freed_text()
    print(shown, tensors_with_a_freed_text())
