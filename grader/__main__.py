"""`python -m grader`."""

import gc
import os
import sys


def run() -> None:
    """Run a command and leave at once: a tenth of a second of tearing torch down helps nobody."""
    gc.disable()
    from grader.cli import main

    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 1
    os._exit(code)


if __name__ == "__main__":
    run()
