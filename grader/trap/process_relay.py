"""Run tests of a trap in one worker, relay their requests to the subject, and keep the transcript."""

import hashlib
import math
import time

from msgspec import structs

from grader.processes.deadlines import COLLECT_SECONDS, LEAST_TEST_WAIT, TEST_SECONDS
from grader.processes.workers import UNREPORTED, DiedError, Worker, seconds_waited
from grader.sandbox.protocol import RunTests, Source, TestRun
from grader.sandbox.traps.messages import (
    MAX_TESTS,
    Answer,
    Ask,
    Collected,
    Done,
    Finished,
    TestMessage,
)
from grader.sandbox.wire import MalformedError
from grader.spec.exercise import Exercise
from grader.spec.paths import TRAP
from grader.trap.budget import MEGABYTE, OverLimitError, TimeUpError, TrapBudget, exchanges_too_much
from grader.trap.replies import RecordedReplies, SubjectWorker, patiently
from grader.trap.session import BY_ITSELF, Ending, Exchange, RecordedRun, TestOutcome, Trap, TrapSession

GRID_SECONDS = 0.001
"""A reply reaches its test this long after the request, or 2, 4, 8, ... times as long. Each request costs at least this
much of a trap's time, so that the requests of a trap are limited however busy the machine is.
"""

MAX_TRANSCRIPT_BYTES = 128 * MEGABYTE
MAX_REQUESTS = 2000
"""The most bytes and requests of one run of a test."""


class ProcessRelay:
    """One test worker, from its start to its end."""

    def __init__(
        self,
        trap: Trap,
        exercise: Exercise,
        session: TrapSession,
        worker: Worker,
        replies: SubjectWorker | RecordedReplies,
        budget: TrapBudget,
        earlier: str,
    ) -> None:
        self._trap, self._exercise, self._session = trap, exercise, session
        self._worker, self._replies, self._budget = worker, replies, budget
        self.recordings: list[RecordedRun] = []
        """The runs that ended by themselves."""
        self._earlier, self._digest = earlier, hashlib.sha256(earlier.encode())
        """The transcript when the last run ended, and the digest of this transcript and of the exchanges since."""
        self._exchanges: list[Exchange] = []
        """The exchanges since the last run ended."""
        self._bytes = 0
        """The bytes of the current run's transcript."""
        self._pending: list[TestRun] = []
        """The runs that have not begun. A worker learns of a run when the one before it has ended."""
        self._current: TestRun | None = None
        self._is_over = self._has_collected = False
        self._calls = 0
        self._seed: int | None = None
        self._deadline = 0.0
        self._is_last = False
        """Whether the current run may only use what is left of the trap's time."""
        self._waited = 0.0
        """How long the test worker had waited for a processor when the current run began."""
        self._started = 0.0
        """The value of `_moment` when the current run began."""
        self._loading = 0.0
        """The seconds of the current run in which the subject was loaded."""
        self._excess = 0.0
        """The seconds by which a busy machine, or loading, made `_wait_for_grid` longer."""

    def run(self, seeds: list[int], runs: list[TestRun], noisy: int | None) -> None:
        """Relay the runs one by one until the end; without `runs`, every test runs once for each of the seeds."""
        interface = self._exercise.interface
        source = Source(label=TRAP, text=self._trap.text)
        request = RunTests(source=source, name=interface.entry(), is_class=not interface.function)
        self._deadline = time.monotonic() + COLLECT_SECONDS
        self._pending = list(runs)
        try:
            self._worker.send_request(request, self._deadline)
            while not self._is_over:
                self._handle(self._next_message(), seeds, noisy)
        except TimeUpError:
            self._session.is_time_up = True
        except TimeoutError:
            if self._current is not None and self._is_last:
                self._session.is_time_up = True
                return
            self._note_problem(f"its tests could not be collected within {COLLECT_SECONDS:g} s")
            self._finish(Ending.TIMED_OUT, Finished(passed=False, reason="it took too long"))
        except OverLimitError as error:
            self._finish(Ending.OVER_LIMIT, Finished(passed=False, reason=str(error)))
        except (DiedError, MalformedError) as error:
            how = error if isinstance(error, DiedError) else "sent an invalid message"
            self._note_problem(f"its process {how}")
            self._finish(Ending.DIED, Finished(passed=False, reason=f"its process {how}"))

    def _handle(self, message: TestMessage, seeds: list[int], noisy: int | None) -> None:
        """Act on a message; raise `MalformedError` for one that may not come now."""
        match message:
            case Collected() if not self._has_collected:
                self._has_collected = True
                self._collect(message)
                count = min(len(message.names), MAX_TESTS)
                self._pending += [TestRun(test=number, seed=seed) for seed in seeds for number in range(count)]
                self._begin_next()
            case Finished() if self._current is not None:
                self._finish(Ending.PASSED if message.passed else Ending.FAILED, _finite(message))
                if self._budget.left <= 0:
                    raise TimeUpError
                if self._replies.end_run():
                    self._begin_next()
                else:
                    self._is_over = True
            case Ask() if self._current is not None:
                asked = time.monotonic()
                self._answer(message, self._current, noisy)
                self._deadline += time.monotonic() - asked
            case Done():
                self._finish(Ending.DIED, Finished(passed=False, reason="it ended all tests"))
                self._is_over = True
            case _:
                raise MalformedError("sent a message out of turn")

    def _next_message(self) -> TestMessage:
        """Return the worker's next message. Time that it waited for a processor does not count."""

        def receive(deadline: float) -> TestMessage:
            self._deadline = deadline
            return self._worker.next_test_message(deadline)

        return patiently(self._worker, receive, self._deadline, self._waited)

    def _note_problem(self, problem: str) -> None:
        """Note why no test runs, unless the tests were collected before."""
        if not self._session.is_collected:
            self._session.problem = self._session.problem or problem

    def _begin_next(self) -> None:
        """Begin the next run, if there is one."""
        if self._replies.may_skip_runs():
            self._pending = [each for each in self._pending if each.test not in self._budget.too_costly]
        if not self._pending:
            self._is_over = True
            return
        self._current, self._calls, self._bytes = self._pending.pop(0), 0, 0
        self._waited, self._loading = self._worker.waited(), 0.0
        self._started = self._moment(self._waited)
        self._digest.update(f"test {self._current.test} seed {self._current.seed}".encode())
        self._is_last = self._budget.left < TEST_SECONDS
        self._deadline = time.monotonic() + min(TEST_SECONDS, max(self._budget.left, LEAST_TEST_WAIT))
        self._worker.send_test_message(self._current, time.monotonic() + TEST_SECONDS)

    def _collect(self, message: Collected) -> None:
        session = self._session
        if not session.is_collected:
            session.is_collected = not message.problem
            session.names, session.problem, session.line = list(message.names), message.problem, message.line

    def _finish(self, ending: Ending, report: Finished) -> None:
        if self._current is None:
            return
        waited = self._waited if ending is Ending.DIED else self._worker.waited()
        self._budget.spend(self._current.test, self._spent(waited))
        outcome = TestOutcome(
            test=self._current.test,
            seed=self._current.seed,
            ending=ending,
            transcript=self._digest.hexdigest(),
            calls=self._calls,
            report=report,
        )
        if ending in BY_ITSELF:
            recorded = RecordedRun(run=self._current, exchanges=self._exchanges, earlier=self._earlier)
            self.recordings.append(recorded)
        self._earlier, self._digest = outcome.transcript, hashlib.sha256(outcome.transcript.encode())
        self._exchanges = []
        self._current = None
        self._session.outcomes.append(outcome)
        self._deadline = time.monotonic() + TEST_SECONDS

    def _spent(self, waited: float) -> float:
        """Return the seconds of the current run that count."""
        return max(self._moment(waited) - self._started - self._loading, self._calls * GRID_SECONDS)

    def _moment(self, waited: float) -> float:
        """Return the time minus the examiner's own time and all waits for a processor; `waited` is the test's wait."""
        return time.monotonic() - waited - self._replies.waited() - _own_seconds() - self._excess

    def _answer(self, message: Ask, run: TestRun, noisy: int | None) -> None:
        self._calls += 1
        if self._calls > MAX_REQUESTS:
            raise OverLimitError(f"it uses the subject more than {MAX_REQUESTS:,} times in one run")
        self._keep(run, message.payload)
        started = time.monotonic()
        if run.seed != self._seed or (self._calls == 1 and self._replies.is_lost()):
            self._seed = run.seed
            before = self._moment(self._waited)
            self._replies.begin()
            self._loading += self._moment(self._waited) - before
        before = self._moment(self._waited)
        reply = self._replies.reply(message.payload, noise=self._seed == noisy)
        worked = self._moment(self._waited) - before
        self._keep(run, reply)
        self._exchanges.append(Exchange(request=message.payload, reply=reply))
        for part in (message.payload, reply):
            self._digest.update(len(part).to_bytes(8, "big") + part)
        self._excess += max(0.0, _wait_for_grid(started) - _until_grid(worked))
        if self._spent(self._worker.waited()) > self._budget.left:
            raise TimeUpError
        self._worker.send_test_message(Answer(payload=reply), time.monotonic() + TEST_SECONDS)

    def _keep(self, run: TestRun, payload: bytes) -> None:
        """Count the bytes of a transcript; raise `OverLimitError` if there are too many."""
        self._bytes += len(payload)
        if self._bytes > MAX_TRANSCRIPT_BYTES:
            raise OverLimitError(exchanges_too_much(MAX_TRANSCRIPT_BYTES, "one run"))
        self._budget.keep(run.test, len(payload))


def _finite(report: Finished) -> Finished:
    """Return the report without numbers that JSON cannot store: NaN and infinities."""
    difference = report.difference if math.isfinite(report.difference or 0.0) else None
    tolerance = report.tolerance if math.isfinite(report.tolerance) else 0.0
    return structs.replace(report, difference=difference, tolerance=tolerance)


def _own_seconds() -> float:
    """Return how long this thread has run, and waited to run."""
    try:
        waited = seconds_waited("thread-self")
    except UNREPORTED:
        waited = 0.0
    return time.thread_time() + waited


def _wait_for_grid(started: float) -> float:
    """Wait until the time since `started` is `GRID_SECONDS` times a power of two, so that no test can measure how long
    the subject took. Return the seconds waited.
    """
    seconds = _until_grid(time.monotonic() - started)
    time.sleep(seconds)
    return seconds


def _until_grid(elapsed: float) -> float:
    moment = GRID_SECONDS
    while moment < elapsed:
        moment *= 2
    return moment - elapsed
