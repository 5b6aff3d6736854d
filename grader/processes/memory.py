"""The memory of long-lived processes."""

import ctypes
import gc
import os
import sys


def free_memory() -> None:
    """Collect reference cycles, since the collector is off during judging, and return free memory to the system."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not every C library has it
        if trim is not None:
            trim(0)


def memory_of(process: int | str) -> int:
    """Return the bytes of memory that a process uses; 0 if the system does not report them."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
