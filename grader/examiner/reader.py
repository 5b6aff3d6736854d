"""Fingerprints of submissions' syntax trees, from a worker that parses and never runs what it parses."""

import time

from grader.examiner.workers import DiedError, Worker, WorkerSource
from grader.exercise import Limits
from grader.submission import Submission
from grader.worker.protocol import MalformedError, Parse, Parsed, Source

READ_SECONDS = 2.0
"""How long parsing may take; an ordinary submission takes about two milliseconds."""


class Reader:
    """One worker for many submissions: what it parses has no say in what it answers."""

    def __init__(self, source: WorkerSource) -> None:
        self._source = source
        self._worker: Worker | None = None

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        if self._worker is None:
            self._worker = self._source.start(Limits())
            self._worker.wait_until_confined()
        chunks = [Source(chunk.label, chunk.text) for chunk in submission.chunks]
        try:
            reply = self._worker.request(Parse(chunks), time.monotonic() + READ_SECONDS)
        except (DiedError, MalformedError, TimeoutError):
            self.close()  # a tree too deep ends its parser; the next submission gets a new one
            return ""
        return reply.fingerprint if isinstance(reply, Parsed) else ""

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None
