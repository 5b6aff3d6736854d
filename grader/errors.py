"""One tree of exceptions for what the kit or its operator does wrong; what a submission does wrong is data."""


class KitError(Exception):
    """The kit cannot go on, and no submission is to blame."""

    exit_code = 3


class UsageError(KitError):
    """The command cannot mean anything: a wrong name, a wrong path, a wrong combination."""

    exit_code = 2


class SpecError(UsageError):
    """An exercise's description is wrong; `problems` holds a full sentence for each fault."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)  # as it was given, so that it comes whole out of another process
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


class BrokenExerciseError(KitError):
    """A reference does not pass its own checks, so no submission can be judged by them."""


class OpenHostError(KitError):
    """Files or the network are open to submissions on this host, and that was not allowed."""


class LostNurseryError(KitError):
    """The process that starts workers has died; an examiner cannot go on without it."""


class WorkerKilledError(KitError):
    """A submission's worker was killed by somebody other than the kit: nothing is known of the submission."""
