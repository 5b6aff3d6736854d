"""Ask a question in a forked process, which may drop privileges to find the answer."""

import contextlib
import os
from collections.abc import Callable


def is_true_in_fork(question: Callable[[], bool]) -> bool:
    """Return the answer of a child process; False if it raises or the system cannot fork."""
    if not hasattr(os, "fork"):
        return False
    process = os.fork()
    if process == 0:
        answer = False
        with contextlib.suppress(BaseException):
            answer = question()
        os._exit(0 if answer else 1)
    return os.waitpid(process, 0)[1] == 0
