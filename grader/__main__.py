"""`python -m grader`."""

import gc
import os
import sys

NOT_INSTALLED = 3
"""The exit code if a package is missing."""


def run() -> None:
    """Run a command and exit at once, because cleaning up after torch takes a tenth of a second.

    A warm process runs it, if there is one. Otherwise this process does, and leaves a fork of itself as a warm process.
    """
    gc.disable()
    _forget_current_folder()
    from grader.processes.warm_client import ask_warm_process, warm_path  # they take a few milliseconds

    path = warm_path(sys.argv[1:])
    code = ask_warm_process(path, sys.argv[1:]) if path else None
    if code is None:
        code = _run_here(path)
    os._exit(code)


def _run_here(path: str | None) -> int:
    """Run the command in this process. Return its exit code. Leave a warm process at the path, if there is one."""
    try:
        from grader.cli import main
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] == "grader":
            raise
        sys.stderr.write(f"grader: {sys.executable} has no {error.name}; activate the environment of README.md\n")
        sys.exit(NOT_INSTALLED)
    if path is None:
        return _flushed(main())
    from grader.warm import CommandService, inherited_descriptors, stay_warm

    inherited, service = inherited_descriptors(), CommandService()
    code = _flushed(main())
    if service.is_usable():
        stay_warm(path, service, inherited)
    return code


def _flushed(code: int) -> int:
    """Return the exit code; a failure if what was printed cannot be written."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return code or 1
    return code


def _forget_current_folder() -> None:
    """Import nothing from the current folder, which may contain students' files, unless it contains this package."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        here = os.getcwd()
    except OSError:  # the folder was deleted
        here = ""
    if here != home:
        sys.path[:] = [entry for entry in sys.path if entry not in ("", here)]


if __name__ == "__main__":
    run()
