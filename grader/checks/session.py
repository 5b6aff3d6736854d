"""One submission under examination: a worker, replaced when it dies, under deadlines for each check and for all."""

import collections
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

from msgspec import Struct, structs

from grader.checks.outcome import Location
from grader.processes.deadlines import LEAST_CHECK_SECONDS, TIMES_THE_REFERENCE, TimeBudget
from grader.processes.workers import DiedError, KilledError, KilledUnconfinedError, Worker, WorkerSource, require_closed
from grader.sandbox import protocol
from grader.sandbox.probes import calling_variants, name_of
from grader.sandbox.protocol import Build, Call, Isolation, Loaded, Raised, Reply, Request, Returned
from grader.sandbox.text import excerpt
from grader.sandbox.wire import MalformedError
from grader.spec.exercise import Exercise
from grader.submission import Submission


class SubjectError(Exception):
    """The submission did not answer as a module does."""


class SubjectRaisedError(SubjectError):
    """The submission raised an exception.

    Where a signature does not accept the interface's arguments, `called` is the method, empty for the constructor, and
    `keywords` are the arguments.
    """

    def __init__(self, raised: Raised, *, called: str = "", keywords: Sequence[str] = ()) -> None:
        super().__init__(f"{raised.type}: {excerpt(raised.text)}" if raised.text else raised.type)
        self.raised = raised
        self.called, self.keywords = called, list(keywords)


class SubjectDiedError(SubjectError):
    """The worker ended, or sent something that is not a message."""


def unasked() -> SubjectDiedError:
    """The error of a worker whose reply does not answer the request."""
    return SubjectDiedError("answered with a message that was not asked for")


class SubjectKilledError(SubjectDiedError):
    """The worker was killed, and not by the kit."""


class SubjectTimedOutError(SubjectError):
    """No answer came before the deadline. `allowed` names the limit, `location` the submission's line at that time.

    `is_starved` tells that it hardly got a processor meanwhile, so that it had no fair chance.
    """

    def __init__(
        self, seconds: float, allowed: str, location: Location | None = None, *, is_starved: bool = False
    ) -> None:
        super().__init__(f"still running after {seconds:.1f} s ({allowed})")
        self.location = location
        self.is_starved = is_starved


class SubjectNotTriedError(SubjectError):
    """It hung in training mode so often that it is not called in training mode once more."""


MOST_HANGS = 2
"""A submission that hung so often at one place is not tried once more."""


class Way(Enum):
    """Ways of calling a module: where it hangs in one, it may still be judged in another."""

    PLAINLY = auto()
    IN_TRAINING = auto()
    IN_A_CALLING_VARIANT = auto()


class Observed(Struct, frozen=True):
    """What later checks go by: what a call left otherwise that is not the module's own, in words, and whether
    calling variants of calling are still tried, until it does not answer in one.
    """

    changed: str = ""
    answers_in_calling_variants: bool = True


class CheckLog:
    """What came back in the check under way, as the proxies note it."""

    def __init__(self) -> None:
        self.calls_of_the_module = 0
        self.returned: Any = None
        """What the last call returned."""
        self.is_form_right = True
        """Whether all that came back were outputs of the form that the interface declares."""

    def note_call(self) -> None:
        """Count a call of the submission's module itself."""
        self.calls_of_the_module += 1

    def note_returned(self, value: Any, *, has_form: bool) -> None:
        """Store the value that a call returned, and whether it has the form of the declared outputs."""
        self.returned = value
        self.is_form_right = self.is_form_right and has_form

    def note_other(self) -> None:
        """Note that something else than an output came back."""
        self.is_form_right = False


class Session:
    """Requests to whichever worker currently holds the submission. Clocks run while it is waited for."""

    def __init__(
        self,
        source: WorkerSource,
        exercise: Exercise,
        submission: Submission,
        *,
        strict: bool = False,
        dtype: str = "float32",
        name: str = "attention",
        reference_seconds: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`name` is the submission's, as a module; `reference_seconds` is what the reference took in this check."""
        self.exercise = exercise
        self._dtype, self._name = dtype, name
        self.isolation: Isolation | None = None
        self.observed = Observed()
        self.log = CheckLog()
        self.ends: list[str] = []
        """How each worker ended that is gone, and with it the modules that were built in it."""
        self._strict = strict
        self._reference_seconds = reference_seconds
        self._source = source
        self._submission = submission
        self._worker: Worker | None = None
        self._budget = TimeBudget(exercise.limits.seconds.total)
        self._hangs: collections.Counter[tuple[str, Way]] = collections.Counter()
        self._answers_plainly = False

    def load(self) -> Loaded:
        """Run the submission in a fresh worker. `SubjectError` when it raises, dies or hangs."""
        self._allow("loading", self.exercise.limits.seconds.load)
        return self._load()

    def renew(self) -> None:
        """Restart the clocks: a person who debugs a check has no total budget."""
        self._budget.renew()
        self._hangs.clear()
        self.begin_check()
        self.allow_all()

    def begin_check(self) -> None:
        """Start the clock of one check."""
        self.log = CheckLog()
        self._allow("a check", min(LEAST_CHECK_SECONDS, self.exercise.limits.seconds.check))

    def allow_all(self) -> None:
        """Allow the check the most that any may take, for it is tried again, or slow by itself."""
        self._budget.extend(self.exercise.limits.seconds.check)

    def why_over(self) -> str:
        """Why the submission is not tried any further; empty where it is."""
        for place in dict.fromkeys(place for place, _ in self._hangs):
            times = sum(self._hangs[place, way] for way in Way)
            if times >= MOST_HANGS and (self._hangs[place, Way.PLAINLY] or not self._answers_plainly):
                return f"it hung {MOST_HANGS} times {place} and is not tried once more"
        total = self.exercise.limits.seconds.total
        return f"all {total:g} s were used up before" if self._budget.is_over() else ""

    def request(self, message: Request) -> Reply:
        """The worker's reply; the submission is loaded again first where its last worker died."""
        way = _way(message)
        if way is Way.IN_TRAINING:
            self._require_no_hangs_in_training()
        if self._worker is None:
            self._load()
        follows = min(TIMES_THE_REFERENCE * self._reference_seconds(), self.exercise.limits.seconds.check)
        self._budget.allow(follows)
        try:
            reply: Reply = self._ask(message)
        except SubjectError:
            if way is Way.IN_A_CALLING_VARIANT:
                self.observed = structs.replace(self.observed, answers_in_calling_variants=False)
            raise
        if isinstance(reply, Returned):
            self.observed = structs.replace(self.observed, changed=self.observed.changed or reply.changed)
        self._answers_plainly = self._answers_plainly or (isinstance(message, Call) and way is Way.PLAINLY)
        return reply

    def printed(self) -> bytes:
        """Return what the submission wrote to stdout since the last call."""
        return self._worker.printed() if self._worker else b""

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _require_no_hangs_in_training(self) -> None:
        if sum(times for (_, way), times in self._hangs.items() if way is Way.IN_TRAINING) >= MOST_HANGS:
            raise SubjectNotTriedError(f"it hung {MOST_HANGS} times in training mode and is not called in it once more")

    def _allow(self, what: str, seconds: float) -> None:
        """Start a clock."""
        if self._worker is not None and self._budget.is_settlement_due():
            self._budget.settle(self._worker.processor())
        self._budget.begin(what, seconds)

    def _load(self) -> Loaded:
        try:
            self._worker, self.isolation = self._start()
        except KilledUnconfinedError:  # by something outside: no submission has run in it yet
            self._worker, self.isolation = self._start()
        self._budget.start_worker(self._worker.processor())
        if self._strict:
            require_closed(self.isolation)
        chunks = [protocol.Source(chunk.label, chunk.text) for chunk in self._submission.chunks]
        reply = self._ask(protocol.Load(chunks, self.exercise.interface.entry(), self._dtype, self._name))
        if not isinstance(reply, Loaded):
            self.close()
            raise unasked()
        return reply

    def _start(self) -> tuple[Worker, Isolation]:
        worker = self._source.start(self.exercise.limits)
        return worker, worker.wait_until_confined()

    def _ask(self, message: Request) -> Any:
        assert self._worker is not None
        try:
            with self._budget.spending():
                reply = self._worker.request(message, self._budget.deadline())
        except TimeoutError:
            with self._budget.spending():
                error = self._timed_out(self._worker, _way(message))
                self.close()
            self.ends.append(f"was {error}")
            raise error from None
        except MalformedError as error:
            self.close()
            self.ends.append(f"sent what is no message ({error})")
            raise SubjectDiedError(self.ends[-1]) from None
        except DiedError as error:
            self._worker = None
            self.ends.append(str(error))
            kind = SubjectKilledError if isinstance(error, KilledError) else SubjectDiedError
            raise kind(str(error)) from None
        if isinstance(reply, Raised):
            raise _raised_error(reply, message)
        return reply

    def _timed_out(self, worker: Worker, way: Way) -> SubjectTimedOutError:
        """What is known of a worker that does not answer."""
        now = worker.processor()
        overrun = self._budget.overrun(now)
        location, function = self._locate(worker)
        if overrun.is_hang:
            self._hangs[f"in {function}" if location else "at a place that is not known", way] += 1
        self._budget.settle(now)
        return SubjectTimedOutError(self._budget.waited, overrun.allowed, location, is_starved=overrun.is_starved)

    def _locate(self, worker: Worker) -> tuple[Location | None, str]:
        """Return the innermost line of the submission that a worker is executing, and its function."""
        sources = {chunk.label: chunk.text.split("\n") for chunk in self._submission.chunks}
        for place in worker.where():
            lines = sources.get(place.label, [])
            if 0 < place.line <= len(lines):
                location = Location(label=place.label, line=place.line, text=lines[place.line - 1])
                return location, place.function
        return None, ""


def _way(message: Request) -> Way:
    """The way in which a request calls the module."""
    if not isinstance(message, Call):
        return Way.PLAINLY
    if message.probe == name_of(calling_variants.call_in_variant):
        return Way.IN_A_CALLING_VARIANT
    return Way.IN_TRAINING if message.training else Way.PLAINLY


def _raised_error(raised: Raised, message: Request) -> SubjectRaisedError:
    """Return the error; where a signature does not accept the interface's arguments, with what these are."""
    if raised.type != "TypeError" or raised.location is not None or not isinstance(message, Build | Call):
        return SubjectRaisedError(raised)
    build = message if isinstance(message, Build) else message.build
    if raised.is_building and build is not None:
        return SubjectRaisedError(raised, keywords=list(build.arguments))
    called = message.method if isinstance(message, Call) else ""
    return SubjectRaisedError(raised, called=called or "forward", keywords=list(message.arguments))
