"""Turn a check's error into an outcome with its finding."""

import re
from pathlib import Path

from msgspec import structs

from grader.checks.failure import Failure
from grader.checks.outcome import (
    Diagnosis,
    DiagnosisKind,
    FailureKind,
    Finding,
    LastCall,
    Location,
    Outcome,
    Status,
)
from grader.checks.proxies import MisfitError
from grader.checks.session import (
    SubjectDiedError,
    SubjectError,
    SubjectKilledError,
    SubjectNotTriedError,
    SubjectRaisedError,
    SubjectTimedOutError,
)
from grader.checks.walk import SizeCaseFailedError
from grader.errors import BrokenExerciseError, KitError, WorkerKilledError
from grader.sandbox.protocol import Raised
from grader.sandbox.text import OUT_OF_MEMORY, cut, excerpt
from grader.spec.exercise import Limits

FILE_TOO_LARGE = "[Errno 27]"
REQUESTED = re.compile(
    r"tried to allocate (?P<bytes>\d{1,20}) bytes|Unable to allocate (?P<words>[\d.]+ [KMGTPE]?i?B)\b"
)
"""How torch and NumPy report the amount of memory that they could not allocate."""

CHECK_ERRORS = (NameError, ImportError, SyntaxError)
"""Errors of the check itself: no returned value can cause them."""

CHECK_ERRORS_IF_FORM_IS_RIGHT = (AttributeError, TypeError)
"""Errors of the check itself if the returned tensors have the right number and dimensions."""

NOT_RAISED = re.compile(r"DID NOT RAISE (?:<class '(?:\w+\.)*)?(\w+)")
"""The message of `pytest.raises` if nothing was raised."""

REWRITTEN = re.compile(r"^assert ", re.MULTILINE)
"""The beginning of the text that pytest adds to an assertion's message: the check's own code."""

MAX_ASSERTION_TEXT = 400
"""The most characters of an assertion's message that a finding shows."""

INTERACTIVE_CALLS = {"EOFError": "input()", "BdbQuit": "breakpoint()"}
"""The calls that raise these exceptions if stdin is empty."""

KIT_FAILED = (
    "the worker reports a fault of the kit, which code in your file can cause; "
    "if the starter fails in the same way, ask your instructor"
)
"""The check still fails, and the message blames nobody, because a submission can make its worker send this reply."""

INSTEAD = "python -m grader try runs your file in your terminal, where you can"

SAME_OPERATIONS = {
    **dict.fromkeys(("reshape", "unflatten", "flatten", "view_as", "reshape_as"), "view"),
    **dict.fromkeys(("MatMult", "bmm", "einsum", "baddbmm", "mm"), "matmul"),
}
"""The common name of equivalent operations, so that a rewritten line crashes with the same signature."""

KILO = 1024
UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


def outcome_of_error(
    check: str,
    error: Exception | None,
    seconds: float,
    limits: Limits,
    *,
    printed: str = "",
    last_call: LastCall | None = None,
    is_form_right: bool = False,
) -> Outcome:
    """Return the outcome of a check that raised `error`, or passed if it is None.

    `printed` is the submission's output. `last_call` is used if the check has no size cases. `is_form_right`: every
    returned value has the form that the interface declares. Raises `BrokenExerciseError` if the check itself is wrong,
    and re-raises the kit's own errors.
    """
    if error is None:
        return Outcome(check=check, status=Status.PASSED, seconds=seconds)
    failed_case = error if isinstance(error, SizeCaseFailedError) else None
    error = failed_case.error if failed_case else error
    if isinstance(error, KitError):
        raise error
    raise_if_killed(error)
    if isinstance(error, CHECK_ERRORS + CHECK_ERRORS_IF_FORM_IS_RIGHT * is_form_right):
        raise BrokenExerciseError(f"{check} fails by itself, {_place_of(error)}: {_in_words(error)}; correct the check")
    status, finding = _finding_of(error, limits, is_form_right=is_form_right)
    if status is not Status.NOT_RUN:
        finding = (
            failed_case.complete(finding)
            if failed_case
            else structs.replace(finding, printed=printed, last_call=last_call)
        )
    return Outcome(check=check, status=status, finding=finding, seconds=seconds)


def raise_if_killed(error: Exception) -> None:
    """Raise `WorkerKilledError` if something outside the kit killed the worker."""
    if isinstance(error, SubjectKilledError):
        raise WorkerKilledError(f"its worker {error} from outside")


def crash_finding(raised: Raised, limits: Limits) -> Finding:
    """Return the finding of an exception that the submission raised."""
    message = str(SubjectRaisedError(raised))
    if raised.is_kits:
        return Finding(kind=FailureKind.KIT, message=f"{KIT_FAILED} ({excerpt(raised.text)})")
    if raised.text.startswith(FILE_TOO_LARGE):
        message = f"it printed more than {limits.output_bytes:,} bytes, the limit"
    elif OUT_OF_MEMORY.search(f"{raised.type}: {raised.text}"):
        message = f"it ran out of the memory it may use: {_memory(raised.text, limits)}"
    elif raised.type in INTERACTIVE_CALLS and (raised.type != "EOFError" or raised.text == "EOF when reading a line"):
        message = f"it calls {INTERACTIVE_CALLS[raised.type]}, but nobody can answer during grading; {INSTEAD}"
    elif raised.type == "SystemExit":
        message = f"it tried to end the program ({message})"
    at = raised.location
    return Finding(
        kind=FailureKind.CRASH,
        detail=raised.type,
        message=message,
        location=Location(label=at.label, line=at.line, text=at.text, column=at.column) if at else None,
        operation=_operation(raised),
    )


def _operation(raised: Raised) -> str:
    """Return the operation that crashed; equivalent operations have one name."""
    operation = SAME_OPERATIONS.get(raised.operation, raised.operation)
    return f"building {operation}".strip() if raised.is_building else operation


def _memory(text: str, limits: Limits) -> str:
    """Describe how much memory was requested, if the message says so, and how much is allowed."""
    allowed = f"{_size(limits.memory_mb << 20)} are allowed in all"
    requested = REQUESTED.search(text)
    if requested is None:
        return allowed
    amount = _size(int(requested["bytes"])) if requested["bytes"] else requested["words"]
    return f"it asked for {amount} at once, and {allowed}"


def _size(number: float) -> str:
    """Format a number of bytes; a unit has 1024 of the next smaller one."""
    unit = 0
    while number >= KILO and unit < len(UNITS) - 1:
        number, unit = number / KILO, unit + 1
    return f"{number:.1f} {UNITS[unit]}" if unit else f"{number:.0f} bytes"


def _finding_of(error: Exception, limits: Limits, *, is_form_right: bool) -> tuple[Status, Finding]:
    if isinstance(error, SubjectRaisedError):
        finding = crash_finding(error.raised, limits)
        if error.keywords:
            names = [error.called, *error.keywords]
            diagnosis = Diagnosis(kind=DiagnosisKind.SIGNATURE, names=names)
            finding = structs.replace(finding, diagnosis=diagnosis)
        return Status.CRASHED, finding
    if isinstance(error, SubjectTimedOutError):
        finding = Finding(kind=FailureKind.TIMEOUT, message=f"it was {error}", location=error.location)
        return Status.TIMED_OUT, finding
    if isinstance(error, SubjectNotTriedError):
        return Status.NOT_RUN, Finding(kind=FailureKind.NO_TIME, message=str(error))
    if isinstance(error, SubjectDiedError):
        return Status.CRASHED, Finding(kind=FailureKind.DIED, message=f"it {error}")
    if isinstance(error, MisfitError):
        message = f"its parameters differ from the interface's: {error}"
        return Status.FAILED, Finding(kind=FailureKind.PARAMETERS, message=message)
    if isinstance(error, Failure):
        return Status.FAILED, error.finding
    if isinstance(error, AssertionError):
        return Status.FAILED, Finding(kind=FailureKind.ASSERTION, message=_assertion_text(error))
    assert not isinstance(error, SubjectError)
    problem = "cannot be used by this check" if is_form_right else "does not have the form that the interface declares"
    message = f"the returned value {problem}: {_in_words(error)}"
    return Status.FAILED, Finding(kind=FailureKind.FORM, detail=type(error).__name__, message=message)


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {excerpt(str(error))}"


def _place_of(error: BaseException) -> str:
    """Return the file and line where an exception was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}" if trace else "at an unknown place"


def _assertion_text(error: BaseException) -> str:
    """Return the message of a hidden check's assertion, without the code that pytest adds."""
    not_raised = NOT_RAISED.match(str(error))
    if not_raised:
        return f"expected {not_raised[1]}, got no exception"
    text = REWRITTEN.split(str(error), maxsplit=1)[0].strip()
    return cut(text, MAX_ASSERTION_TEXT) or "an assertion of this check does not hold"
