"""What a check's error tells: an outcome with its finding."""

import re
from pathlib import Path

from msgspec import structs

from grader.checks.compare import Failure
from grader.checks.outcome import Finding, Location, Outcome, Status, Tried
from grader.checks.proxies import MisfitError
from grader.checks.session import (
    SubjectDiedError,
    SubjectError,
    SubjectKilledError,
    SubjectNotTriedError,
    SubjectRaisedError,
    SubjectTimedOutError,
)
from grader.errors import BrokenExerciseError, KitError, WorkerKilledError
from grader.sandbox.protocol import Raised
from grader.sandbox.text import cut, excerpt
from grader.spec.exercise import Limits

FILE_TOO_LARGE = "[Errno 27]"
OUT_OF_MEMORY = re.compile(r"MemoryError|DefaultCPUAllocator: |bad_alloc|\[Errno 12\]|[Cc]an(?:no|')t allocate memory")
ASKED_FOR = re.compile(
    r"tried to allocate (?P<bytes>\d{1,20}) bytes|Unable to allocate (?P<told>[\d.]+ [KMGTPE]?i?B)\b"
)
"""How torch and NumPy say how much memory they did not get."""

THE_CHECKS = (NameError, ImportError, SyntaxError)
"""What nothing that is returned can bring about."""

THE_CHECKS_OF_RIGHT_FORM = (AttributeError, TypeError)
"""What tensors of the right number and dimensions cannot: their sizes and values raise other errors."""

NOT_RAISED = re.compile(r"DID NOT RAISE (?:<class '(?:\w+\.)*)?(\w+)")
"""What `pytest.raises` says where nothing was raised."""

REWRITTEN = re.compile(r"^assert ", re.MULTILINE)
"""Begins what pytest adds to an assertion's message where it has rewritten the check: the check's own code."""

MOST_ASSERTION_TEXT = 400
"""Characters of an assertion's message that a finding shows."""

ASKS_SOMEBODY = {"EOFError": "input()", "BdbQuit": "breakpoint()"}
"""What raises these where stdin is empty."""

KITS_OWN = "the kit's own code failed beside the module, which shows no fault of the module; tell whoever teaches this"

INSTEAD = "python -m grader try runs your file in your terminal, where you can"

SAME_OPERATIONS = {
    **dict.fromkeys(("reshape", "unflatten", "flatten", "view_as", "reshape_as"), "view"),
    **dict.fromkeys(("MatMult", "bmm", "einsum", "baddbmm", "mm"), "matmul"),
}
"""Other ways of writing what a variant does where it crashes."""

KILO = 1024
UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


def outcome_of_error(
    check: str, error: Exception | None, seconds: float, limits: Limits, *, is_form_right: bool = False
) -> Outcome:
    """The outcome of a check that returned (None) or raised; the kit's own errors are raised again.

    `BrokenExerciseError` where the check did not look, or itself is what is wrong: no submission is to blame for that.
    `is_form_right` tells that all that came back to it had the form that the interface declares.
    """
    if error is None:
        return Outcome(check, Status.PASSED, None, seconds)
    if isinstance(error, KitError):
        raise error
    if isinstance(error, SubjectKilledError):
        raise WorkerKilledError(f"its worker {error} from outside")
    if isinstance(error, THE_CHECKS + THE_CHECKS_OF_RIGHT_FORM * is_form_right):
        raise BrokenExerciseError(f"{check} fails by itself, {_place_of(error)}: {_told(error)}; mend the check")
    sizes = "; ".join(getattr(error, "__notes__", []))
    status, finding = _see(error, sizes, limits, is_form_right=is_form_right)
    tried: Tried = vars(error).get("tried", Tried())
    told = {"at": tried.sizes, "printed": tried.printed, "place": tried.place, "expected": tried.expected}
    return Outcome(check, status, structs.replace(finding, **told), seconds)


def crash_finding(raised: Raised, sizes: str, limits: Limits) -> Finding:
    """What an exception of the submission's tells."""
    text = str(SubjectRaisedError(raised))
    if raised.is_kits:
        return Finding("kit", f"{KITS_OWN} ({excerpt(raised.text)})", None, sizes)
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


def _see(error: Exception, sizes: str, limits: Limits, *, is_form_right: bool) -> tuple[Status, Finding]:
    if isinstance(error, SubjectRaisedError):
        return Status.CRASHED, crash_finding(error.raised, sizes, limits)
    if isinstance(error, SubjectTimedOutError):
        return Status.TIMED_OUT, Finding("timeout", f"it was {error}", error.location, sizes)
    if isinstance(error, SubjectNotTriedError):
        return Status.NOT_RUN, Finding("no-time", str(error))
    if isinstance(error, SubjectDiedError):
        return Status.CRASHED, Finding("died", f"it {error}", None, sizes)
    if isinstance(error, MisfitError):
        return Status.FAILED, Finding("parameters", f"its parameters are not the interface's: {error}", None, sizes)
    if isinstance(error, Failure):
        seen = Finding(error.kind, str(error), None, sizes, picture=error.picture, explanation=error.explanation)
        return Status.FAILED, seen
    if isinstance(error, AssertionError):
        return Status.FAILED, Finding("assertion", _assertion_text(error), None, sizes)
    assert not isinstance(error, SubjectError)
    went_wrong = "is nothing this check can go on with" if is_form_right else "has another form than the interface says"
    text = f"what it returned {went_wrong}: {_told(error)}"
    return Status.FAILED, Finding(f"form:{type(error).__name__}", text, None, sizes)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {excerpt(str(error))}"


def _place_of(error: BaseException) -> str:
    """Where an exception was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}" if trace else "nobody knows where"


def _assertion_text(error: BaseException) -> str:
    """What a check's author says of a failure, in pytest's ways of saying it."""
    not_raised = NOT_RAISED.match(str(error))
    if not_raised:
        return f"expected {not_raised[1]}, saw no exception"
    text = REWRITTEN.split(str(error), maxsplit=1)[0].strip()
    return cut(text, MOST_ASSERTION_TEXT) or "an assertion of this check does not hold"
