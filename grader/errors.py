"""The exceptions for errors of the kit and its users. Errors of a submission are data, not exceptions."""

import importlib

SIGNAL_EXIT = 128
"""Added to a signal's number: the exit code that shells give a program ended by that signal."""

INTERRUPTED = SIGNAL_EXIT + 2
"""The exit code after Ctrl-C, which sends SIGINT."""


class KitError(Exception):
    """The kit cannot continue, and no submission is to blame."""

    exit_code = 3


class UsageError(KitError):
    """The command is wrong: an unknown name, a missing file, or options that exclude each other."""

    exit_code = 2


class SpecError(UsageError):
    """An exercise.yaml is wrong; `problems` has a sentence for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)  # pickling an exception passes these arguments to its constructor again
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


class BrokenExerciseError(KitError):
    """The reference fails a check of its own exercise, so no submission can be graded."""


class OpenHostError(KitError):
    """Submissions could reach files or the network on this host, and the user did not allow that."""


class LostNurseryError(KitError):
    """The nursery, the process that forks workers, has died. The examiner needs it for every worker."""


class WorkerKilledError(KitError):
    """Something outside the kit killed a worker, so nothing is known about its submission."""


def error_named(name: str, message: str) -> KitError:
    """Return the error that another process raised, from the name of its class here and its message."""
    kind = globals().get(name, KitError)
    return SpecError(message.split("\n")) if kind is SpecError else kind(message)


def require_package(name: str, extra: str) -> None:
    """Import a package that only this extra of the kit installs. Raise `UsageError` if it is missing."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"this needs {name}; install it with pip install -e '.[{extra}]'") from error
