"""A pool of examiner processes that stay warm between requests: lent to one thread each, cancelled, restarted."""

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Self, TypeVar

from grader.errors import KitError
from grader.processes.examiner_process import CancelledError, ExaminerProcess, Service, ServiceRequest

T = TypeVar("T")


class ExaminerPool:
    """Lends examiner processes to one thread each; keeps at most `most_idle` of them idle."""

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
    def lend(self, service: Service, topic: str) -> Iterator[ExaminerProcess]:
        """Lend an examiner process to the caller, preferably one that has prepared the topic."""
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
        """End every examiner process, and kill the busy ones. The pool may be used again."""
        with self._lock:
            idle, self._idle = self._idle, []
            lent = list(self._lent)
        for examiner in lent:
            examiner.cancel()
        for examiner in idle:
            examiner.close()

    def _take_back(self, examiner: ExaminerProcess, *, is_fit: bool) -> None:
        """Return a process to the idle list, and end the longest idle ones beyond `most_idle`."""
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
        """In a forked child: reset the pool, because the parent's threads do not exist here."""
        inherited = [*self._lent, *self._idle]
        for examiner in inherited:
            examiner.abandon()
        self._inherited += inherited  # never freed: a thread of the parent may own a pipe's lock
        self._lock, self._idle, self._lent = threading.Lock(), [], set()


class PoolClient:
    """Sends requests to a service through a pool, from any number of threads; can be cancelled permanently."""

    def __init__(self, pool: ExaminerPool, service: Service) -> None:
        self._pool = pool
        self._service = service
        self._at_work: set[ExaminerProcess] = set()
        self._is_cancelled = False

    def ask(self, request: ServiceRequest, answer_type: type[T]) -> T:
        """Return the answer; raise the same errors as `ExaminerProcess.ask`."""
        with self._pool.lend(self._service, request.topic) as examiner:
            self._at_work.add(examiner)
            if self._is_cancelled:
                examiner.cancel()
            try:
                return examiner.ask(request, answer_type)
            finally:
                self._at_work.discard(examiner)

    def cancel(self) -> None:
        """Kill this client's busy processes and cancel its later requests. Callable from any thread."""
        self._is_cancelled = True
        for examiner in list(self._at_work):
            examiner.cancel()
