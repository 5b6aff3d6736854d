"""Fingerprints of sources, which are equal if sources differ only in layout and comments. A worker parses them."""

import time

from grader.processes.deadlines import PARSE_SECONDS
from grader.processes.workers import DiedError, Worker, WorkerSource, sources_of, start_confined
from grader.sandbox.protocol import Parse, Parsed
from grader.sandbox.wire import MalformedError
from grader.spec.exercise import Limits
from grader.submission import Submission


class Fingerprinter:
    """A worker that parses many submissions. It runs none of them, so none can influence its answers."""

    def __init__(self, source: WorkerSource) -> None:
        self._source = source
        self._worker: Worker | None = None

    def fingerprint(self, submission: Submission) -> str:
        """Return the same text for sources that differ only in layout and comments; empty without a syntax tree."""
        if self._worker is None:
            self._worker, _ = start_confined(self._source, Limits())
        try:
            reply = self._worker.request(Parse(chunks=sources_of(submission)), time.monotonic() + PARSE_SECONDS)
        except (DiedError, MalformedError, TimeoutError):
            self.close()  # a very deep tree ends the parser; the next submission gets a new worker
            return ""
        return reply.fingerprint if isinstance(reply, Parsed) else ""

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None
