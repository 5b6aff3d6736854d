"""What a warm process does for its clients: it runs the commands of the command line, and keeps one judge open."""

import os
from collections.abc import Callable

from grader.cli import main
from grader.errors import KitError
from grader.processes.memory import free_memory
from grader.processes.warm_client import is_answered_warm
from grader.processes.warm_server import stay_warm
from grader.verdict.warm_judge import keep_warm_judge

__all__ = ["CommandService", "inherited_descriptors", "stay_warm"]

LOWEST_INHERITED = 3
"""The first descriptor after the standard streams."""


def inherited_descriptors() -> set[int]:
    """Return the descriptors that this process got from its caller, apart from the standard streams."""
    listed = {int(each) for each in os.listdir("/proc/self/fd")}
    return {each for each in listed if each >= LOWEST_INHERITED and _is_open(each)}


def _is_open(descriptor: int) -> bool:
    """Return whether a descriptor is open. The descriptor that listed the others is closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


class CommandService:
    """Runs commands, and judges in the judge that the first command opens. Make it before the first command."""

    def __init__(self) -> None:
        self._judge = keep_warm_judge()

    def run(self, arguments: list[str]) -> int:
        """Run a command and return its exit code; raise errors that are not the user's fault."""
        if not is_answered_warm(arguments):
            raise KitError("a warm process does not answer this command")
        return main(arguments, is_warm=True)

    def rest(self, is_idle: Callable[[], bool]) -> None:
        """Start the next worker, work ahead, and free memory."""
        self._judge.prepare(is_idle)
        free_memory()

    def is_usable(self) -> bool:
        """Return whether the next command can be answered."""
        return self._judge.is_usable()
