"""One submission under examination: a worker, replaced when it dies, under deadlines for each check and for all."""

import time
from typing import Any

from grader.course.records import Exercise
from grader.errors import OpenHostError
from grader.examiner.workers import DiedError, Worker, WorkerSource
from grader.submission import Submission
from grader.worker import protocol
from grader.worker.protocol import Build, Call, Isolation, Loaded, MalformedError, Raised, Reply, Request


class SubjectError(Exception):
    """The submission did not answer as a module does."""


class SubjectRaisedError(SubjectError):
    """The submission raised an exception."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(f"{raised.type}: {raised.text}" if raised.text else raised.type)
        self.raised = raised


class SubjectDiedError(SubjectError):
    """The worker ended, or sent what is no message."""


class SubjectTimedOutError(SubjectError):
    """No answer came before the deadline; `allowed` says which limit that was."""

    def __init__(self, seconds: float, allowed: str) -> None:
        super().__init__(f"still running after {seconds:.1f} s ({allowed})")


class Session:
    """Requests to whichever worker currently holds the submission."""

    def __init__(
        self,
        source: WorkerSource,
        exercise: Exercise,
        submission: Submission,
        *,
        strict: bool = False,
        dtype: str = "float32",
    ) -> None:
        self.exercise = exercise
        self._dtype = dtype
        self.isolation: Isolation | None = None
        self._strict = strict
        self._source = source
        self._submission = submission
        self._worker: Worker | None = None
        self._end_of_all = time.monotonic() + exercise.limits.seconds.total
        self._started = time.monotonic()
        self._deadline = self._end_of_all
        self._allowed = f"everything may take {exercise.limits.seconds.total:g} s"

    def load(self) -> Loaded:
        """Run the submission in a fresh worker. `SubjectError` when it raises, dies or hangs."""
        self._allow("loading", self.exercise.limits.seconds.load)
        return self._load()

    def renew(self) -> None:
        """Start the clocks anew: someone who debugs a check has no budget as a whole."""
        self._end_of_all = time.monotonic() + self.exercise.limits.seconds.total
        self.begin_check()

    def begin_check(self) -> None:
        """Start the clock of one check."""
        self._allow("a check", self.exercise.limits.seconds.check)

    def is_out_of_time(self) -> bool:
        """Whether the submission's budget as a whole is spent."""
        return time.monotonic() >= self._end_of_all

    def request(self, message: Request) -> Reply:
        """The worker's reply; the submission is loaded again first where its last worker died."""
        if self._worker is None:
            self._load()
        reply: Reply = self._ask(message)
        return reply

    def printed(self) -> bytes:
        """What the submission wrote to stdout since this was last asked."""
        return self._worker.printed() if self._worker else b""

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _allow(self, what: str, seconds: float) -> None:
        self._started = time.monotonic()
        self._deadline = min(self._started + seconds, self._end_of_all)
        total = self.exercise.limits.seconds.total
        left = max(self._end_of_all - self._started, 0.0)
        is_enough = left >= seconds
        self._allowed = (
            f"{what} may take {seconds:g} s" if is_enough else f"of {total:g} s for all, {left:.1f} s were left"
        )

    def _load(self) -> Loaded:
        self._worker = self._source.start(self.exercise.limits)
        self.isolation = self._worker.wait_until_confined()
        if self._strict:
            _require_closed(self.isolation)
        chunks = [protocol.Source(chunk.label, chunk.text) for chunk in self._submission.chunks]
        reply = self._ask(protocol.Load(chunks, self.exercise.interface.entry(), self._dtype))
        if not isinstance(reply, Loaded):
            self.close()
            raise SubjectDiedError("answered with a message that was not asked for")
        return reply

    def _ask(self, message: Request) -> Any:
        assert self._worker is not None
        try:
            reply = self._worker.request(message, self._deadline)
        except TimeoutError:
            self.close()
            raise SubjectTimedOutError(time.monotonic() - self._started, self._allowed) from None
        except MalformedError as error:
            self.close()
            raise SubjectDiedError(f"sent what is no message ({error})") from None
        except DiedError as error:
            self._worker = None
            raise SubjectDiedError(str(error)) from None
        if isinstance(reply, Raised):
            raise _explained(SubjectRaisedError(reply), message)
        return reply


def _require_closed(isolation: Isolation) -> None:
    """Raise `OpenHostError` where a submission could reach files or the network."""
    if not isolation.filesystem:
        raise OpenHostError(
            "the file system is open to submissions here, and --strict refuses to grade; it takes Landlock "
            "(Linux 5.13 or newer, switched on) and `pip install py-landlock`"
        )
    if not isolation.network:
        raise OpenHostError(
            "the network is open to submissions here, and --strict refuses to grade; it takes seccomp "
            "(the system's libseccomp2 and `pip install pyseccomp`) or network namespaces"
        )


def _explained(error: SubjectRaisedError, message: Request) -> SubjectRaisedError:
    """The error; where a signature does not take what the interface hands over, with a note of what that is."""
    if error.raised.type == "TypeError" and error.raised.location is None and isinstance(message, Build | Call):
        build = message if isinstance(message, Build) else message.build
        if error.raised.is_building and build is not None:
            called, arguments = "it is built", build.arguments
        else:
            called, arguments = f"{getattr(message, 'method', '') or 'forward'} is called", message.arguments
        keywords = ", ".join(arguments)
        error.add_note(f"{called} with the keywords {keywords}: keep the interface's signature")
    return error
