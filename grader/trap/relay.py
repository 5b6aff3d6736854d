"""Run a trap on one implementation: relay frames between the test worker and the subject's, and keep the transcript."""

import hashlib
import itertools
import math
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing

from msgspec import structs

from grader.processes.deadlines import COLLECT_SECONDS, LEAST_TEST_WAIT, TEST_SECONDS, TRAP_SECONDS
from grader.processes.workers import (
    UNREPORTED,
    DiedError,
    Worker,
    WorkerSource,
    protections,
    seconds_waited,
    start_confined,
)
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
from grader.submission import Submission
from grader.trap.replies import RecordedReplies, SubjectWorker, patiently
from grader.trap.session import BY_ITSELF, Ending, Exchange, RecordedRun, TestOutcome, Trap, TrapSession

GRID_SECONDS = 0.001
"""A reply reaches its test this long after the request, or 2, 4, 8, ... times as long. Each request costs at least this
much of a trap's time, so that the requests of a trap are limited however busy the machine is.
"""

MEGABYTE = 1 << 20

MAX_TRANSCRIPTS_BYTES = 512 * MEGABYTE
"""The most bytes of all transcripts of a trap, which the examiner keeps for the replay."""

MAX_TRANSCRIPT_BYTES = 128 * MEGABYTE
MAX_REQUESTS = 2000
"""The most bytes and requests of one run of a test."""


RESERVE = 1.5
"""The most expensive test runs again only if it leaves this many times the seconds that the other tests need."""

NEXT_RUNS = 3
"""The runs of one test that begin, in all lanes, before its cost is known."""

LARGE_SHARE = 0.25
"""A test is expensive if all its runs would take more than this share of the trap's time."""


class TimeUpError(Exception):
    """The trap has used all its time."""


class OverLimitError(Exception):
    """A run makes too many requests, or exchanges too much data with the subject."""


class TrapBudget:
    """What a trap may still use, in all lanes together: seconds of its tests, and bytes of transcripts."""

    def __init__(self, seconds: float) -> None:
        self.left = self._total = seconds
        self._planned_runs = 0
        """How often each test will run on the implementations that have not begun."""
        self.seconds: dict[int, float] = {}
        """The seconds that each test has used."""
        self.too_costly: dict[int, float] = {}
        """The tests that do not run again, so that time is left for the others, with the seconds that they need."""
        self.too_large: set[int] = set()
        """The tests that exchanged too much data in all their runs together."""
        self._set_aside: set[int] = set()
        """The tests that do not run again for other reasons."""
        self._runs: Counter[int] = Counter()
        """The runs of each test that have ended."""
        self._bytes: Counter[int] = Counter()
        self._lock = threading.Lock()

    def spend(self, test: int, seconds: float) -> None:
        """Subtract the seconds of one run."""
        with self._lock:
            self.left -= max(0.0, seconds)
            self.seconds[test] = self.seconds.get(test, 0.0) + max(0.0, seconds)
            self._runs[test] += 1
            self._stop_costly()

    def plan(self, runs: int) -> None:
        """Add to the runs of each test that have not begun."""
        with self._lock:
            self._planned_runs += runs

    def set_aside(self, test: int) -> None:
        """Note that a test does not run again, so that it needs no time."""
        with self._lock:
            self._set_aside.add(test)

    def _stop_costly(self) -> None:
        """Stop the most expensive tests when no more time is left than the others need."""
        while True:
            ended = self._set_aside.union(self.too_costly)
            means = {test: self.seconds[test] / runs for test, runs in self._runs.items() if test not in ended}
            if not means:
                return
            test = max(means, key=means.__getitem__)
            own = means[test] * self._planned_runs
            others = sum(means.values()) * self._planned_runs - own
            is_in_time = self.left > own + others or self.left - NEXT_RUNS * means[test] > RESERVE * others
            if is_in_time or len(means) == 1 or own < LARGE_SHARE * self._total:
                return
            self.too_costly[test] = self.seconds[test] + own

    def keep(self, test: int, size: int) -> None:
        """Add bytes to the transcripts. If there are too many, raise `OverLimitError` for the test with the most."""
        with self._lock:
            self._bytes[test] += size
            if self._bytes.total() > MAX_TRANSCRIPTS_BYTES and self._bytes[test] == max(self._bytes.values()):
                self.too_large.add(test)
                raise OverLimitError(_exchanges_too_much(MAX_TRANSCRIPTS_BYTES, "all runs"))


def _exchanges_too_much(limit: int, where: str) -> str:
    return f"it exchanges more than {limit // MEGABYTE} MB with the subject in {where}"


class Relay:
    """Runs traps on implementations: a fresh test worker and a fresh subject's worker for each.

    Several threads may run one trap on different implementations.
    """

    def __init__(
        self,
        source: WorkerSource,
        exercise: Exercise,
        trap: Trap,
        *,
        seconds: float = TRAP_SECONDS,
        strict: bool = False,
        name: str = "attention",
    ) -> None:
        """`name` is the module name of every implementation."""
        self._source, self._exercise, self._trap = source, exercise, trap
        self._strict, self._name = strict, name
        self.budget = TrapBudget(seconds)

    def run(
        self, subject: Submission, *, seeds: Sequence[int] = (), runs: Sequence[TestRun] = (), noisy: int | None = None
    ) -> TrapSession:
        """Run every test at each of the seeds, or the given runs. `noisy` is the seed at which replies get noise.

        A test that hangs or ends its process is not run again.
        """
        session = TrapSession()
        remaining = list(runs)
        is_first = True
        while remaining or is_first:
            with closing(
                SubjectWorker(self._source, self._exercise, subject, strict=self._strict, name=self._name)
            ) as replies:
                self._run_process(session, list(seeds) if is_first else [], remaining, replies, noisy)
            if session.is_time_up or not session.is_collected:
                break
            if is_first and not runs:
                count = min(len(session.names), MAX_TESTS)
                remaining = [TestRun(test=number, seed=seed) for seed in seeds for number in range(count)]
            before, remaining = len(remaining), _remaining(remaining, session, set(self.budget.too_costly))
            if not is_first and len(remaining) == before:
                break  # the process ended before any test
            is_first = False
        return session

    def replay(self, recorded: TrapSession) -> TrapSession:
        """Repeat the runs that ended by themselves, on recorded replies alone; no subject runs.

        A run that hangs, ends its process or makes other requests does so alone: another process repeats the runs after
        it. Tests that are too costly are left out, and another process repeats the runs after them.
        """
        session = TrapSession()
        too_costly = frozenset(self.budget.too_costly)
        every = [
            list(group)
            for recordings in recorded.processes
            for is_left_out, group in itertools.groupby(recordings, lambda each: each.run.test in too_costly)
            if not is_left_out
        ]
        for recordings in every:
            remaining = recordings
            while remaining and not session.is_time_up:
                before = len(session.outcomes)
                runs = [each.run for each in remaining]
                self._run_process(session, [], runs, RecordedReplies(remaining), None, remaining[0].earlier)
                if len(session.outcomes) == before:
                    break  # the process ended before any test
                remaining = remaining[len(session.outcomes) - before :]
        return session

    def _run_process(
        self,
        session: TrapSession,
        seeds: list[int],
        runs: list[TestRun],
        replies: SubjectWorker | RecordedReplies,
        noisy: int | None,
        earlier: str = "",
    ) -> None:
        """Run tests in one test worker until it is done, dies or hangs. Its transcript continues the `earlier` one."""
        if self.budget.left <= 0:
            session.is_time_up = True
            return
        worker, isolation = start_confined(self._source, self._exercise.limits, strict=self._strict)
        session.isolation = protections(isolation)
        try:
            process = _TestProcess(self._trap, self._exercise, session, worker, replies, self.budget, earlier)
            session.processes.append(process.recordings)
            process.run(seeds, runs, noisy)
        finally:
            worker.kill()


def _remaining(runs: Sequence[TestRun], session: TrapSession, too_costly: set[int]) -> list[TestRun]:
    """Return the runs that have not ended, without tests that are too costly, hang or end their process."""
    ended = {(each.test, each.seed) for each in session.outcomes}
    stopped = too_costly | {each.test for each in session.outcomes if each.ending not in BY_ITSELF}
    return [each for each in runs if (each.test, each.seed) not in ended and each.test not in stopped]


class _TestProcess:
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
            raise OverLimitError(_exchanges_too_much(MAX_TRANSCRIPT_BYTES, "one run"))
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
