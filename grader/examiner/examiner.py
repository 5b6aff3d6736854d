"""Examine submissions: an exercise's checks, collected once, are run by pytest's protocol over one after another."""

import hashlib
import re
import time
import warnings
from collections.abc import Collection
from typing import Any

import pytest
import torch
from msgspec import structs

from grader.course.kinds import Kind
from grader.course.paths import Course
from grader.course.records import Exercise, Limits
from grader.errors import BrokenExerciseError, KitError
from grader.examiner.compare import Advice, Failure, excerpt
from grader.examiner.context import Context
from grader.examiner.outcome import Examination, Finding, Location, Outcome, Status, Tried, last_lines
from grader.examiner.plugin import PropertyItem
from grader.examiner.proxies import MisfitError, Subject
from grader.examiner.reference import AbsentReference, Reference
from grader.examiner.reference_cache import ReferenceCache
from grader.examiner.session import Session, SubjectDiedError, SubjectError, SubjectRaisedError, SubjectTimedOutError
from grader.examiner.workers import WorkerSource
from grader.submission import Submission
from grader.worker.protocol import Loaded, Raised
from grader.worker.values import TORCH_DTYPES

FILE_TOO_LARGE = "[Errno 27]"
OUT_OF_MEMORY = re.compile(r"MemoryError|DefaultCPUAllocator: |bad_alloc|\[Errno 12\]|[Cc]an(?:no|')t allocate memory")
ASKED_FOR = re.compile(
    r"tried to allocate (?P<bytes>\d{1,20}) bytes|Unable to allocate (?P<told>[\d.]+ [KMGTPE]?i?B)\b"
)
"""How torch and NumPy say how much memory they did not get."""

NOT_RAISED = re.compile(r"DID NOT RAISE (?:<class '(?:\w+\.)*)?(\w+)")
"""What `pytest.raises` says where nothing was raised."""

MOST_ASSERTION_TEXT = 400
"""Characters of an assertion's message that a finding shows."""

ASKS_SOMEBODY = {"EOFError": "input()", "BdbQuit": "breakpoint()"}
"""What raises these where stdin is empty."""

INSTEAD = "python -m grader try runs your file in your terminal, where you can"

SAME_OPERATIONS = {
    **dict.fromkeys(("reshape", "unflatten", "flatten", "view_as", "reshape_as"), "view"),
    **dict.fromkeys(("MatMult", "bmm", "einsum", "baddbmm", "mm"), "matmul"),
}
"""Other ways of writing what a variant does where it crashes."""

KILO = 1024
UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


def outcome_of_error(check: str, error: BaseException | None, seconds: float, limits: Limits) -> Outcome:
    """The outcome of a check that returned (None) or raised; the kit's own errors are raised again.

    `BrokenExerciseError` where the check did not look: no submission is to blame for that.
    """
    if error is None:
        return Outcome(check, Status.PASSED, None, seconds)
    if isinstance(error, pytest.skip.Exception | pytest.xfail.Exception):
        raise BrokenExerciseError(f"{check} skips: {error.msg}; a check has to pass or fail, so take the skip out")
    if isinstance(error, KitError) or not isinstance(error, Exception | pytest.fail.Exception):
        raise error
    sizes = "; ".join(getattr(error, "__notes__", []))
    status, finding = _see(error, sizes, limits)
    tried: Tried = vars(error).get("tried", Tried())
    return Outcome(check, status, structs.replace(finding, at=tried.sizes, printed=tried.printed), seconds)


def crash_finding(raised: Raised, sizes: str, limits: Limits) -> Finding:
    """What an exception of the submission's tells."""
    text = f"{raised.type}: {excerpt(raised.text)}" if raised.text else raised.type
    if raised.text.startswith(FILE_TOO_LARGE):
        text = f"it printed more than {limits.output_bytes:,} bytes, the limit"
    elif OUT_OF_MEMORY.search(f"{raised.type}: {raised.text}"):
        text = f"it ran out of the memory it may use: {_memory(raised.text, limits)}"
    elif raised.type in ASKS_SOMEBODY and (raised.type != "EOFError" or raised.text == "EOF when reading a line"):
        text = f"it calls {ASKS_SOMEBODY[raised.type]}, and nobody is here to answer; {INSTEAD}"
    elif raised.type == "SystemExit":
        text = f"it tried to end the program ({text})"
    at = raised.location
    location = Location(at.label, at.line, at.text, at.column) if at else None
    return Finding(f"crash:{raised.type}", text, location, sizes, operation=_operation(raised))


def _operation(raised: Raised) -> str:
    """What was being done when it crashed, in one word for what may be written in several ways."""
    operation = SAME_OPERATIONS.get(raised.operation, raised.operation)
    return f"building {operation}".strip() if raised.is_building else operation


def _memory(text: str, limits: Limits) -> str:
    """How much memory was asked for, where the message tells, and how much there is."""
    allowed = f"{_size(limits.memory_mb << 20)} are allowed in all"
    asked = ASKED_FOR.search(text)
    if asked is None:
        return allowed
    return f"it asked for {_size(int(asked['bytes'])) if asked['bytes'] else asked['told']} at once, and {allowed}"


def _size(number: float) -> str:
    """A number of bytes as people say it; 1024 make the next unit."""
    unit = 0
    while number >= KILO and unit < len(UNITS) - 1:
        number, unit = number / KILO, unit + 1
    return f"{number:.1f} {UNITS[unit]}" if unit else f"{number:.0f} bytes"


def _see(error: BaseException, sizes: str, limits: Limits) -> tuple[Status, Finding]:
    if isinstance(error, SubjectRaisedError):
        return Status.CRASHED, crash_finding(error.raised, sizes, limits)
    if isinstance(error, SubjectTimedOutError):
        return Status.TIMED_OUT, Finding("timeout", f"it was {error}", error.location, sizes)
    if isinstance(error, SubjectDiedError):
        return Status.CRASHED, Finding("died", f"it {error}", None, sizes)
    if isinstance(error, MisfitError):
        return Status.FAILED, Finding("parameters", f"its parameters are not the interface's: {error}", None, sizes)
    if isinstance(error, Failure):
        seen = Finding(error.kind, str(error), None, sizes, picture=error.picture, explanation=error.explanation)
        return Status.FAILED, seen
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return Status.FAILED, Finding("assertion", _assertion_text(error), None, sizes)
    assert not isinstance(error, SubjectError)
    return Status.FAILED, Finding(
        f"form:{type(error).__name__}", "what it returned has another form than the interface says", None, sizes
    )


def _assertion_text(error: BaseException) -> str:
    """What a check's author says of a failure, in pytest's ways of saying it."""
    not_raised = NOT_RAISED.match(str(error))
    if not_raised:
        return f"expected {not_raised[1]}, saw no exception"
    text = str(error).strip()
    cut = f"{text[:MOST_ASSERTION_TEXT]}..." if len(text) > MOST_ASSERTION_TEXT else text
    return cut or "an assertion of this check does not hold"


FINGERPRINT_LENGTH = 12
SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")


class Examiner:
    """Holds an exercise's checks and reference, and examines one submission after another."""

    def __init__(
        self, course: Course, exercise: Exercise, items: list[pytest.Item], source: WorkerSource, *, strict: bool
    ) -> None:
        self.exercise = exercise
        self.seed = 0
        self._strict = strict
        self._source = source
        self._reference = ReferenceCache(
            AbsentReference() if exercise.is_public() else Reference(course.reference(exercise.id), exercise.interface)
        )
        self._items = items
        self._comparing = frozenset(item.name for item in items if _compares(item))
        self._session: Session | None = None
        self._outcomes: list[Outcome] = []
        self._saw: dict[str, Any] = {}
        self._failure: BaseException | None = None
        self._is_starved = False

    def context(self) -> Context:
        """Subject and reference of the submission under examination."""
        assert self._session is not None
        return Context(Subject(self._session), self._reference, self.exercise, self._session.printed)

    def check_ids(self) -> list[str]:
        """The checks that every submission meets, in order."""
        return [item.name for item in self._items]

    def examine(
        self,
        submission: Submission,
        seed: int,
        *,
        dtype: str = "float32",
        stops_at_failure: bool = False,
        only: Collection[str] = (),
    ) -> Examination:
        """What every check sees of the submission, or some of them `only`.

        `seed` is that of the inputs, `dtype` torch's default dtype.
        """
        started = time.monotonic()
        self.seed = seed
        self._outcomes, self._saw, self._failure = [], {}, None
        self._session = Session(
            self._source,
            self.exercise,
            submission,
            strict=self._strict,
            dtype=dtype,
            reference_seconds=self._reference.seconds,
        )
        torch.set_default_dtype(TORCH_DTYPES[dtype])
        try:
            loaded = self._session.load()
            unloadable = self._why_unloadable(loaded)
            if unloadable is None:
                items = [item for item in self._items if not only or item.name in only]
                self._run_checks(items, dtype, stops_at_failure)
            methods = {name: _fingerprint(tree) for name, tree in loaded.trees.items()}
        except SubjectError as error:
            unloadable, methods = self._load_finding(error), {}
        finally:
            torch.set_default_dtype(torch.float32)
            self._session.close()
        isolation = structs.asdict(self._session.isolation) if self._session.isolation else {}
        seconds = time.monotonic() - started
        return Examination(self._outcomes, unloadable, methods, isolation, seconds, self._saw, self._comparing)

    def note(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Keep what a check's run came to."""
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, Exception) and self._session is not None:
            vars(error).setdefault("tried", Tried(printed=last_lines(self._session.printed())))
        self._is_starved = self._is_starved or (isinstance(error, SubjectTimedOutError) and error.is_starved)
        if isinstance(error, Failure) and error.saw is not None:
            self._saw[item.name] = error.saw
        if call.when == "call" or error is not None:
            try:
                self._outcomes.append(outcome_of_error(item.name, error, call.duration, self.exercise.limits))
            except BrokenExerciseError as own:
                self._failure = BrokenExerciseError(f"{self.exercise.id}: {own}")
            except BaseException as own:  # noqa: BLE001 - raised again once pytest's protocol is over
                self._failure = own

    def _run_checks(self, items: list[pytest.Item], dtype: str, stops_at_failure: bool) -> None:
        assert self._session is not None
        for item in items:
            if stops_at_failure and any(outcome.status is not Status.PASSED for outcome in self._outcomes):
                return
            if why_over := self._session.why_over():
                self._outcomes.append(Outcome(item.name, Status.NOT_RUN, Finding("no-time", why_over)))
                continue
            seen_before = len(self._outcomes)
            self._run_check(item, dtype)
            is_repeated = self._reference.is_to_be_repeated()
            if is_repeated or self._is_starved:
                del self._outcomes[seen_before:]
                self._failure = None
                self._run_check(item, dtype, is_retry=not is_repeated)
            if self._failure is not None:
                raise self._failure

    def _run_check(self, item: pytest.Item, dtype: str, *, is_retry: bool = False) -> None:
        assert self._session is not None
        self._is_starved = False
        self._session.begin_check()
        if is_retry:
            self._session.allow_all()
        self._session.printed()  # what earlier checks brought to stdout
        self._reference.begin(item.name, self.seed, dtype)
        with warnings.catch_warnings(record=True) as advice:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", Advice)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            except pytest.exit.Exception as error:
                fault = f"{self.exercise.id}: {item.name} ends pytest: {error.msg}; a check has to pass or fail"
                raise BrokenExerciseError(fault) from None
        if advice and self._outcomes and self._outcomes[-1].status is Status.PASSED:
            self._outcomes[-1] = structs.replace(self._outcomes[-1], advice=str(advice[0].message))

    def _load_finding(self, error: SubjectError) -> Finding:
        if not isinstance(error, SubjectRaisedError):
            was, location = ("was ", error.location) if isinstance(error, SubjectTimedOutError) else ("", None)
            text = f"it {was}{error} while it was loading; keep the file to imports and definitions"
            return Finding("load", text, location)
        seen = crash_finding(error.raised, "", self.exercise.limits)
        verb = "cannot be compiled" if error.raised.type in SYNTAX_ERRORS else "raises while it is loading"
        next_step = "mend that line" if seen.location else "run the file by itself to see why"
        return Finding(seen.kind, f"it {verb}: {seen.text}; {next_step}", seen.location)

    def _why_unloadable(self, loaded: Loaded) -> Finding | None:
        interface = self.exercise.interface
        name, what = interface.entry(), "function" if interface.function else "class"
        needs_module = what == "class" and interface.kind in (Kind.MODULE, Kind.LOSS)
        if loaded.entry_found and (loaded.entry_is_module or not needs_module):
            return None
        if loaded.entry_found:
            return Finding("class", f"{name} is not a subclass of torch.nn.Module; derive it from nn.Module")
        if loaded.tolerated is not None:
            seen = crash_finding(loaded.tolerated, "", self.exercise.limits)
            text = f"a cell raises before there is a {what} {name}: {seen.text}; mend that line"
            return Finding(seen.kind, text, seen.location)
        if what == "function":
            return Finding("class", f"there is no function {name}; name your function {name}")
        found = ", ".join(loaded.classes) or "none"
        return Finding("class", f"there is no class {name}; the classes found: {found}; name your class {name}")


def _compares(item: pytest.Item) -> bool:
    """Whether a check compares values with the reference's."""
    if isinstance(item, PropertyItem):
        return item.check.compares_values()
    return "reference" in getattr(item, "fixturenames", ())


def _fingerprint(tree: str) -> str:
    return hashlib.sha256(tree.encode("utf-8", "surrogatepass")).hexdigest()[:FINGERPRINT_LENGTH]
