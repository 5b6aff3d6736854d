"""What a check raised -> Outcome; where a limit was in the way, which, how much was used and how much is allowed."""

import re

from grader.errors import KitError
from grader.examiner.finding import Failure
from grader.examiner.session import SubjectDiedError, SubjectError, SubjectRaisedError, SubjectTimedOutError
from grader.examiner.subject import MisfitError
from grader.exercise import Limits
from grader.outcome import Finding, Location, Outcome, Status
from grader.worker.protocol import Raised

FILE_TOO_LARGE = "[Errno 27]"
OUT_OF_MEMORY = re.compile(r"MemoryError|DefaultCPUAllocator: |bad_alloc|\[Errno 12\]|[Cc]an(?:no|')t allocate memory")
ASKED_FOR = re.compile(
    r"tried to allocate (?P<bytes>\d{1,20}) bytes|Unable to allocate (?P<told>[\d.]+ [KMGTPE]?i?B)\b"
)
"""How torch and NumPy say how much memory they did not get."""

KILO = 1024
UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


def outcome_of(check: str, error: BaseException | None, seconds: float, limits: Limits) -> Outcome:
    """The outcome of a check that returned (None) or raised; the kit's own errors are raised again."""
    if error is None:
        return Outcome(check, Status.PASSED, None, seconds)
    if isinstance(error, KitError) or not isinstance(error, Exception):
        raise error
    sizes = "; ".join(getattr(error, "__notes__", []))
    status, finding = _see(error, sizes, limits)
    return Outcome(check, status, finding, seconds)


def crash_finding(raised: Raised, sizes: str, limits: Limits) -> Finding:
    """What an exception of the submission's tells."""
    text = f"{raised.type}: {raised.text}" if raised.text else raised.type
    if raised.text.startswith(FILE_TOO_LARGE):
        text = f"it printed more than {limits.output_bytes:,} bytes, the limit"
    elif OUT_OF_MEMORY.search(text):
        text = f"it ran out of the memory it may use: {_memory(raised.text, limits)}"
    elif raised.type == "SystemExit":
        text = f"it tried to end the program ({text})"
    at = raised.location
    location = Location(at.label, at.line, at.text, at.column) if at else None
    return Finding(f"crash:{raised.type}", text, location, sizes)


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


def _see(error: Exception, sizes: str, limits: Limits) -> tuple[Status, Finding]:
    if isinstance(error, SubjectRaisedError):
        return Status.CRASHED, crash_finding(error.raised, sizes, limits)
    if isinstance(error, SubjectTimedOutError):
        return Status.TIMED_OUT, Finding("timeout", f"it was {error}", None, sizes)
    if isinstance(error, SubjectDiedError):
        return Status.CRASHED, Finding("died", f"it {error}", None, sizes)
    if isinstance(error, MisfitError):
        return Status.FAILED, Finding("parameters", f"its parameters are not the interface's: {error}", None, sizes)
    if isinstance(error, Failure):
        return Status.FAILED, Finding(error.kind, str(error), None, sizes)
    if isinstance(error, AssertionError) and error.args:
        return Status.FAILED, Finding("assertion", str(error.args[0]), None, sizes)
    assert not isinstance(error, SubjectError)
    return Status.FAILED, Finding(
        f"form:{type(error).__name__}", "what it returned has another form than the interface says", None, sizes
    )
