"""A session with one submission: requests to its worker, under deadlines. A worker that dies is replaced."""

import collections
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

import torch
from msgspec import Struct, structs

from grader.checks.outcome import LastCall, Location
from grader.checks.tape import Tape
from grader.processes.deadlines import (
    DISK_LOOKS,
    LEAST_AFTER_A_HANG,
    LEAST_CHECK_SECONDS,
    TIMES_THE_REFERENCE,
    TimeBudget,
)
from grader.processes.workers import (
    DiedError,
    KilledError,
    KilledUnconfinedError,
    Worker,
    WorkerSource,
    sources_of,
    start_confined,
)
from grader.sandbox.probes import calling_variants, name_of
from grader.sandbox.protocol import Build, Call, Isolation, Load, Loaded, Raised, Reply, Request, Returned
from grader.sandbox.text import excerpt
from grader.sandbox.wire import MalformedError
from grader.spec.exercise import Exercise
from grader.submission import Submission


class SubjectError(Exception):
    """The submission answered a request with an error, with an invalid reply, or not at all."""


class SubjectRaisedError(SubjectError):
    """The submission raised an exception.

    If a signature does not accept the interface's arguments, `keywords` are these arguments and `called` is the method,
    or empty for the constructor.
    """

    def __init__(self, raised: Raised, *, called: str = "", keywords: Sequence[str] = ()) -> None:
        super().__init__(f"{raised.type}: {excerpt(raised.text)}" if raised.text else raised.type)
        self.raised = raised
        self.called, self.keywords = called, list(keywords)


class SubjectDiedError(SubjectError):
    """The worker ended, or sent an invalid message."""


def unexpected_reply() -> SubjectDiedError:
    """Return the error for a reply that does not belong to the request."""
    return SubjectDiedError("sent an unexpected reply")


class SubjectKilledError(SubjectDiedError):
    """Something outside the kit killed the worker."""


class SubjectTimedOutError(SubjectError):
    """No reply came before the deadline.

    `allowed` describes the limit. `location` is the line that the submission was running.
    """

    def __init__(self, seconds: float, allowed: str, location: Location | None) -> None:
        super().__init__(f"still running after {seconds:.1f} s ({allowed})")
        self.location = location


class SubjectNotTriedError(SubjectError):
    """The submission hung too often in training mode, so it is not called in training mode again."""


MAX_HANGS = 2
"""How often a submission may hang at one place before the kit stops running it."""


class Way(Enum):
    """Ways of calling a module. A module that hangs in one way can still be judged in the others."""

    PLAINLY = auto()
    IN_TRAINING = auto()
    IN_A_CALLING_VARIANT = auto()


class Observed(Struct, frozen=True, kw_only=True):
    """Observations that later checks depend on."""

    changed: str = ""
    """Description of the first change to torch's own settings; empty if there was none."""
    answers_in_calling_variants: bool = True
    """False once the module did not answer in a calling variant; later checks use plain calls only."""


class CheckLog:
    """The replies in the current check, as the proxies record them."""

    def __init__(self) -> None:
        self.entry_calls = 0
        """Calls of the submission's own class or function, not of a part of it."""
        self.is_form_right = True
        """Whether every reply so far was an output of the form that the interface declares."""
        self._arguments: dict[str, Any] = {}
        self._inputs: dict[str, Any] = {}

    def note_build(self, arguments: dict[str, Any]) -> None:
        """Record the arguments of a constructor."""
        self._arguments, self._inputs = arguments, {}

    def note_call(self, arguments: dict[str, Any], inputs: dict[str, Any]) -> None:
        """Record the inputs of a call, and the arguments with which its module was built."""
        self._arguments, self._inputs = arguments, inputs

    def last_call(self) -> LastCall | None:
        """Return the last call, without inputs if the last module was not called; None if there is nothing to tell."""
        if not (self._arguments or self._inputs):
            return None
        tensors = {name: value for name, value in self._inputs.items() if isinstance(value, torch.Tensor)}
        return LastCall(
            constructor=_plain(self._arguments),
            shapes={name: list(tensor.shape) for name, tensor in tensors.items()},
            inputs=_plain(self._inputs),
        )

    def note_entry_call(self) -> None:
        """Count a call of the submission's own class or function."""
        self.entry_calls += 1

    def note_reply(self, *, has_form: bool) -> None:
        """Record whether a reply is an output of the declared form."""
        self.is_form_right = self.is_form_right and has_form


class Session:
    """Sends requests to the worker that currently runs the submission, and keeps the deadlines."""

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
        """`name` is the submission's module name; `reference_seconds` returns the reference's time in this check."""
        self.exercise = exercise
        self._dtype, self._name = dtype, name
        self.isolation: Isolation | None = None
        self.observed = Observed()
        self.log = CheckLog()
        self.tape: Tape | None = None
        """Where requests are recorded; None for none, as in every judgement."""
        self.ends: list[str] = []
        """How each former worker ended. The modules built in it are lost."""
        self._strict = strict
        self._reference_seconds = reference_seconds
        self._source = source
        self._submission = submission
        self._worker: Worker | None = None
        self._budget = TimeBudget(exercise.limits.seconds.total)
        self._hangs: collections.Counter[tuple[str, Way]] = collections.Counter()
        """How often the submission hung, by the function that ran (empty if unknown) and the way of calling."""
        self._answers_plainly = False

    def load(self) -> Loaded:
        """Run the submission in a new worker. Raises `SubjectError` if the submission raises, dies or hangs."""
        self._allow("loading", self.exercise.limits.seconds.load)
        return self._load()

    def renew(self) -> None:
        """Restart the clocks and forget the observations: without a total time limit, each check is debugged alone."""
        self._budget.renew()
        self.observed = Observed()
        self._hangs.clear()
        self.begin_check(has_full_time=True)

    def begin_check(self, *, has_full_time: bool = False) -> None:
        """Start the clock of one check.

        Pass `has_full_time` if the check is slow for reasons outside the submission.
        """
        self.log = CheckLog()
        least = LEAST_AFTER_A_HANG if self._hangs else LEAST_CHECK_SECONDS
        self._allow("a check", min(least, self.exercise.limits.seconds.check))
        if has_full_time:
            self._budget.allow(self.exercise.limits.seconds.check)

    def begin_size_case(self) -> None:
        """Discard what the submission printed, and what the tape recorded, at smaller sizes."""
        self.printed()
        if self.tape is not None:
            self.tape.steps = []

    def why_over(self) -> str:
        """Return why no more checks run; empty if they do."""
        for function in dict.fromkeys(function for function, _ in self._hangs):
            times = sum(self._hangs[function, way] for way in Way)
            if times >= MAX_HANGS and (self._hangs[function, Way.PLAINLY] or not self._answers_plainly):
                place = f"in {function}" if function else "at an unknown place"
                return f"it hung {MAX_HANGS} times {place}, so it is not run again"
        total = self.exercise.limits.seconds.total
        return f"the {total:g} s for all checks were used up before this check" if self._budget.is_over() else ""

    def request(self, message: Request) -> Reply:
        """Send a request and return the reply; load the submission again first if its last worker died.

        Raises `SubjectError` if the submission raises, dies, hangs, or sends an invalid message.
        """
        if self.tape is not None:
            self.tape.note_request(message)
        way = _way(message)
        if way is Way.IN_TRAINING:
            self._require_no_hangs_in_training()
        if self._worker is None:
            self._load()
        by_reference = TIMES_THE_REFERENCE * self._reference_seconds()
        self._budget.allow(min(by_reference, self.exercise.limits.seconds.check))
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
        if sum(times for (_, way), times in self._hangs.items() if way is Way.IN_TRAINING) >= MAX_HANGS:
            raise SubjectNotTriedError(
                f"it hung {MAX_HANGS} times in training mode, so it is not called in training mode again"
            )

    def _allow(self, name: str, seconds: float) -> None:
        """Start the clock of a named step."""
        if self._worker is not None and self._budget.is_settlement_due():
            self._budget.settle(self._worker.processor_time())
        self._budget.begin(name, seconds)

    def _load(self) -> Loaded:
        try:
            self._worker, self.isolation = self._start()
        except KilledUnconfinedError:  # by something outside the kit: no submission has run yet
            self._worker, self.isolation = self._start()
        self._budget.start_worker(self._worker.processor_time())
        chunks, entry = sources_of(self._submission), self.exercise.interface.entry()
        reply = self._ask(Load(chunks=chunks, entry=entry, dtype=self._dtype, name=self._name))
        if not isinstance(reply, Loaded):
            self.close()
            raise unexpected_reply()
        return reply

    def _start(self) -> tuple[Worker, Isolation]:
        return start_confined(self._source, self.exercise.limits, strict=self._strict)

    def _ask(self, message: Request) -> Any:
        assert self._worker is not None
        try:
            reply = self._reply_to(message, self._worker)
        except TimeoutError:
            with self._budget.spending():
                error = self._timed_out(self._worker, _way(message))
                self.close()
            self.ends.append(f"was {error}")
            raise error from None
        except MalformedError as error:
            self.close()
            self.ends.append(f"sent an invalid message ({error})")
            raise SubjectDiedError(self.ends[-1]) from None
        except DiedError as error:
            self._worker = None
            self.ends.append(str(error))
            kind = SubjectKilledError if isinstance(error, KilledError) else SubjectDiedError
            raise kind(str(error)) from None
        if isinstance(reply, Raised):
            raise _raised_error(reply, message)
        return reply

    def _reply_to(self, message: Request, worker: Worker) -> Any:
        """Return the worker's reply. Raise `TimeoutError` at the deadline; waits for a processor or a disk delay it."""
        with self._budget.spending():
            worker.send_request(message, self._budget.deadline())
        while True:
            try:
                with self._budget.spending():
                    return worker.next_reply(self._budget.deadline())
            except TimeoutError:
                if not self._budget.settle(worker.processor_time(DISK_LOOKS)):
                    raise

    def _timed_out(self, worker: Worker, way: Way) -> SubjectTimedOutError:
        """Record a missed deadline and return its error."""
        overrun = self._budget.overrun()
        location, function = self._locate(worker)
        if overrun.is_hang:
            self._hangs[function, way] += 1
        return SubjectTimedOutError(self._budget.charged, overrun.allowed, location)

    def _locate(self, worker: Worker) -> tuple[Location | None, str]:
        """Return the innermost line of the submission that the worker is running, and its function, if there is one."""
        sources = {chunk.label: chunk.text.split("\n") for chunk in self._submission.chunks}
        for frame in worker.where():
            lines = sources.get(frame.label, [])
            if 0 < frame.line <= len(lines):
                location = Location(label=frame.label, line=frame.line, text=lines[frame.line - 1])
                return location, frame.function
        return None, ""


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers and texts among values by name."""
    return {name: value for name, value in values.items() if isinstance(value, bool | int | float | str | None)}


def _way(message: Request) -> Way:
    """Return the way in which a request calls the module."""
    if not isinstance(message, Call):
        return Way.PLAINLY
    if message.probe == name_of(calling_variants.call_in_variants):
        return Way.IN_A_CALLING_VARIANT
    return Way.IN_TRAINING if message.training else Way.PLAINLY


def _raised_error(raised: Raised, message: Request) -> SubjectRaisedError:
    """Return the error, with the interface's arguments if a signature does not accept them."""
    if raised.type != "TypeError" or raised.location is not None or not isinstance(message, Build | Call):
        return SubjectRaisedError(raised)
    build = message if isinstance(message, Build) else message.build
    if raised.is_building and build is not None:
        return SubjectRaisedError(raised, keywords=list(build.arguments))
    called = message.method if isinstance(message, Call) else ""
    return SubjectRaisedError(raised, called=called or "forward", keywords=list(message.arguments))
