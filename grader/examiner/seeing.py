"""What a check raised -> Outcome."""

from grader.errors import KitError
from grader.examiner.finding import Failure
from grader.examiner.session import SubjectDiedError, SubjectError, SubjectRaisedError, SubjectTimedOutError
from grader.examiner.subject import MisfitError
from grader.outcome import Finding, Location, Outcome, Status
from grader.worker.protocol import Raised

FILE_TOO_LARGE = "[Errno 27]"
OUT_OF_MEMORY = ("MemoryError", "DefaultCPUAllocator: can't allocate memory")


def outcome_of(check: str, error: BaseException | None, seconds: float, output_bytes: int) -> Outcome:
    """The outcome of a check that returned (None) or raised; the kit's own errors are raised again."""
    if error is None:
        return Outcome(check, Status.PASSED, None, seconds)
    if isinstance(error, KitError) or not isinstance(error, Exception):
        raise error
    sizes = "; ".join(getattr(error, "__notes__", []))
    status, finding = _see(error, sizes, output_bytes)
    return Outcome(check, status, finding, seconds)


def crash_finding(raised: Raised, sizes: str, output_bytes: int) -> Finding:
    """What an exception of the submission's tells."""
    text = f"{raised.type}: {raised.text}" if raised.text else raised.type
    if raised.text.startswith(FILE_TOO_LARGE):
        text = f"it printed more than {output_bytes:,} bytes, the limit"
    elif any(sign in text for sign in OUT_OF_MEMORY):
        text = f"it ran out of the memory it may use ({text[:120]})"
    elif raised.type == "SystemExit":
        text = f"it tried to end the program ({text})"
    at = raised.location
    location = Location(at.label, at.line, at.text, at.column) if at else None
    return Finding(f"crash:{raised.type}", text, location, sizes)


def _see(error: Exception, sizes: str, output_bytes: int) -> tuple[Status, Finding]:
    if isinstance(error, SubjectRaisedError):
        return Status.CRASHED, crash_finding(error.raised, sizes, output_bytes)
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
