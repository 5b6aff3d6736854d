"""A pool of examiner processes that stay warm between requests: lent to one thread each, cancelled, restarted."""

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Self

from grader.errors import KitError
from grader.processes.examiner_process import CancelledError, ExaminerProcess, Request, Service


class ExaminerPool:
    """Lends examiner processes to one thread each; of those given back, at most `most_idle` wait for the next."""

    def __init__(self, most_idle: int | None = None) -> None:
        self._most_idle = most_idle
        self._lock = threading.Lock()
        self._idle: list[ExaminerProcess] = []
        self._lent: set[ExaminerProcess] = set()
        self._inherited: list[ExaminerProcess] = []
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._abandon)

    @contextlib.contextmanager
    def lend(self, service: Service, topic: str = "") -> Iterator[ExaminerProcess]:
        """An examiner process for the caller alone; one that has prepared the topic where one waits."""
        with self._lock:
            fitting = [each for each in self._idle if each.service == service]
            found = max(fitting, key=lambda each: each.has_prepared(topic), default=None)
            if found:
                self._idle.remove(found)
            examiner = found or ExaminerProcess(service)
            self._lent.add(examiner)
        is_fit = False
        try:
            yield examiner
            is_fit = True
        except CancelledError:
            raise
        except KitError:
            is_fit = True
            raise
        finally:
            self._take_back(examiner, is_fit=is_fit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every examiner process, at once where it is at work; the pool may be used again."""
        with self._lock:
            idle, self._idle = self._idle, []
            lent = list(self._lent)
        for examiner in lent:
            examiner.cancel()
        for examiner in idle:
            examiner.close()

    def _take_back(self, examiner: ExaminerProcess, *, is_fit: bool) -> None:
        """Let it wait for the next request, in the place of the one that has waited longest."""
        with self._lock:
            self._lent.discard(examiner)
            is_fit = is_fit and not examiner.is_cancelled
            surplus = [] if is_fit else [examiner]
            if is_fit:
                self._idle.insert(0, examiner)
            if self._most_idle is not None:
                surplus += self._idle[self._most_idle :]
                del self._idle[self._most_idle :]
        for each in surplus:
            each.cancel()
            each.close()

    def _abandon(self) -> None:
        """In a forked child: start anew; the parent's threads and locks are not here."""
        inherited = [*self._lent, *self._idle]
        for examiner in inherited:
            examiner.abandon()
        self._inherited += inherited  # never collected: a pipe's lock may be held by a thread that is not here
        self._lock, self._idle, self._lent = threading.Lock(), [], set()


class PoolClient:
    """Asks a service by a pool's examiner processes, from any number of threads; may be cancelled, for good."""

    def __init__(self, pool: ExaminerPool, service: Service) -> None:
        self._pool = pool
        self._service = service
        self._at_work: set[ExaminerProcess] = set()
        self._is_cancelled = False

    def ask(self, request: Request) -> bytes:
        """Return the answer; raises what `ExaminerProcess.ask` does."""
        with self._pool.lend(self._service, request.topic) as examiner:
            self._at_work.add(examiner)
            if self._is_cancelled:
                examiner.cancel()
            try:
                return examiner.ask(request)
            finally:
                self._at_work.discard(examiner)

    def cancel(self) -> None:
        """End the processes that are at work for this client, and refuse it any more; from any thread."""
        self._is_cancelled = True
        for examiner in list(self._at_work):
            examiner.cancel()
