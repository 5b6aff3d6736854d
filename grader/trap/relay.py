"""Run a trap on one implementation: test worker after test worker, and a subject's worker beside each."""

import itertools
from collections.abc import Sequence
from contextlib import closing

from grader.processes.deadlines import TRAP_SECONDS
from grader.processes.workers import WorkerSource, protections, start_confined
from grader.sandbox.protocol import TestRun
from grader.sandbox.traps.messages import MAX_TESTS
from grader.spec.exercise import Exercise
from grader.submission import Submission
from grader.trap.budget import TrapBudget
from grader.trap.process_relay import ProcessRelay
from grader.trap.replies import RecordedReplies, SubjectWorker
from grader.trap.session import BY_ITSELF, Trap, TrapSession


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
            process = ProcessRelay(self._trap, self._exercise, session, worker, replies, self.budget, earlier)
            session.processes.append(process.recordings)
            process.run(seeds, runs, noisy)
        finally:
            worker.kill()


def _remaining(runs: Sequence[TestRun], session: TrapSession, too_costly: set[int]) -> list[TestRun]:
    """Return the runs that have not ended, without tests that are too costly, hang or end their process."""
    ended = {(each.test, each.seed) for each in session.outcomes}
    stopped = too_costly | {each.test for each in session.outcomes if each.ending not in BY_ITSELF}
    return [each for each in runs if (each.test, each.seed) not in ended and each.test not in stopped]
