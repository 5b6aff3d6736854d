"""Where workers come from, chosen in one place: forked where that is safe, else spawned as interpreters."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.examiner.workers import WorkerSource

CAN_FORK = sys.platform == "linux"
"""Forking a process that holds torch is safe on Linux; macOS's system libraries forbid it, Windows cannot."""


def open_worker_source(*, spawn: bool = not CAN_FORK, for_many: bool = False) -> "WorkerSource":
    """A source of workers, to be closed: opened before any description, reference or check is, for workers are copies.

    Imports torch, and keeps other processes from reading this one's memory. `for_many` workers it takes a little longer
    to open, and less for each.
    """
    from grader.worker.torch_import import import_torch

    import_torch(for_many=for_many)
    from grader.examiner.workers import Nursery, hide_memory

    hide_memory()
    if spawn:
        from grader.examiner.spawner import Spawner

        return Spawner()
    return Nursery()
