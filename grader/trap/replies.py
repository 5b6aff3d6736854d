"""Replies to the requests of a test: from a subject in a worker, or from a recorded transcript."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from grader.errors import KitError
from grader.processes.deadlines import LEAST_TEST_WAIT, SUBJECT_SECONDS
from grader.processes.workers import DiedError, Worker, WorkerSource, sources_of, start_confined
from grader.sandbox.protocol import Act, Acted, Load, Loaded, Raised, Reply
from grader.sandbox.traps.messages import Failed, encode
from grader.sandbox.wire import MalformedError
from grader.spec.exercise import Exercise
from grader.submission import Submission
from grader.trap.session import Exchange, RecordedRun

Received = TypeVar("Received")


class SubjectWorker:
    """Replies of a subject in its own worker, which is loaded anew for each seed."""

    def __init__(
        self, source: WorkerSource, exercise: Exercise, subject: Submission, *, strict: bool, name: str
    ) -> None:
        self._source, self._exercise, self._subject = source, exercise, subject
        self._strict, self._name = strict, name
        self._worker: Worker | None = None

    def is_lost(self) -> bool:
        """Return whether the worker has ended, so that the next test needs another."""
        return self._worker is None

    def begin(self) -> None:
        """Load the subject anew."""
        if self._worker is None:
            self._worker, _ = start_confined(self._source, self._exercise.limits, strict=self._strict)
        request = Load(chunks=sources_of(self._subject), entry=self._exercise.interface.entry(), name=self._name)
        reply = self._request(request, self._exercise.limits.seconds.load)
        if not isinstance(reply, Loaded):
            text = reply.text if isinstance(reply, Raised) else "an unexpected reply"
            raise KitError(f"{self._exercise.id}: an implementation does not load: {text}; prove the exercise")

    def waited(self) -> float:
        """Return how long the subject has waited for a processor."""
        return self._worker.waited() if self._worker is not None else 0.0

    def reply(self, payload: bytes, *, noise: bool) -> bytes:
        """Return the reply to a request. A subject that ends or hangs raises in the test."""
        if self._worker is None:
            return _failed("the subject's process has ended")
        try:
            reply = self._request(Act(payload=payload, noise=noise), SUBJECT_SECONDS)
        except (TimeoutError, DiedError, MalformedError):
            self.close()
            return _failed("the subject did not answer")
        return reply.payload if isinstance(reply, Acted) else _failed("the subject cannot answer this")

    def _request(self, message: Load | Act, seconds: float) -> Reply:
        """Return the reply to a request. Time that the worker waited for a processor does not count."""
        assert self._worker is not None, "it was started"
        waited, deadline = self.waited(), time.monotonic() + seconds
        self._worker.send_request(message, deadline)
        return patiently(self._worker, self._worker.next_reply, deadline, waited)

    def end_run(self) -> bool:
        """Return True: the next run may follow in the same process."""
        return True

    def may_skip_runs(self) -> bool:
        """Return True: each run is loaded anew."""
        return True

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


class RecordedReplies:
    """The replies of recorded runs, in their order; a request that is not the recorded one gets an error."""

    def __init__(self, runs: Sequence[RecordedRun]) -> None:
        self._runs = iter(runs)
        self._has_deviated = False
        self._exchanges: Iterator[Exchange] = iter(())
        self._begin_run()

    def is_lost(self) -> bool:
        """Return False: recorded replies do not end."""
        return False

    def begin(self) -> None:
        """Do nothing: the replies go on in their order."""

    def waited(self) -> float:
        """Return 0: no process waits."""
        return 0.0

    def reply(self, payload: bytes, *, noise: bool) -> bytes:
        """Return the next reply."""
        del noise
        exchange = next(self._exchanges, None)
        if exchange is None or exchange.request != payload:
            self._has_deviated = True
            return _failed("this request was not made before")
        return exchange.reply

    def end_run(self) -> bool:
        """Go on to the next run. Return whether this run made exactly the recorded requests."""
        is_as_recorded = not self._has_deviated and next(self._exchanges, None) is None
        self._begin_run()
        return is_as_recorded

    def may_skip_runs(self) -> bool:
        """Return False: the recorded runs come in their order."""
        return False

    def _begin_run(self) -> None:
        run = next(self._runs, None)
        self._exchanges = iter(run.exchanges if run else ())


def _failed(text: str) -> bytes:
    return encode(Failed(types=["RuntimeError"], text=text))


def patiently(worker: Worker, receive: Callable[[float], Received], deadline: float, granted: float) -> Received:
    """Receive a message before a deadline, extended by the worker's waits for a processor since `granted`."""
    while True:
        try:
            return receive(deadline)
        except TimeoutError:
            waited = worker.waited()
            if waited - granted < LEAST_TEST_WAIT:
                raise
            deadline, granted = time.monotonic() + waited - granted, waited
