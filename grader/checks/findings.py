"""Turn a check's error into an outcome with its finding."""

import re
from pathlib import Path

from msgspec import structs

from grader.checks.compare import Failure
from grader.checks.outcome import (
    Explanation,
    ExplanationKind,
    FailureKind,
    Finding,
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
from grader.sandbox.text import cut, excerpt
from grader.spec.exercise import Limits

FILE_TOO_LARGE = "[Errno 27]"
OUT_OF_MEMORY = re.compile(r"MemoryError|DefaultCPUAllocator: |bad_alloc|\[Errno 12\]|[Cc]an(?:no|')t allocate memory")
ASKED_FOR = re.compile(
    r"tried to allocate (?P<bytes>\d{1,20}) bytes|Unable to allocate (?P<words>[\d.]+ [KMGTPE]?i?B)\b"
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
    check: str,
    error: Exception | None,
    seconds: float,
    limits: Limits,
    *,
    printed: str = "",
    is_form_right: bool = False,
) -> Outcome:
    """Return the outcome of a check that returned (None) or raised; raise the kit's own errors again.

    `BrokenExerciseError` where the check itself is wrong: no submission is to blame for that. `printed` is
    what the submission printed, and `is_form_right` tells that all that it returned has the form that the interface
    declares.
    """
    if error is None:
        return Outcome(check=check, status=Status.PASSED, seconds=seconds)
    failed_case = error if isinstance(error, SizeCaseFailedError) else None
    error = failed_case.error if failed_case else error
    if isinstance(error, KitError):
        raise error
    if isinstance(error, SubjectKilledError):
        raise WorkerKilledError(f"its worker {error} from outside")
    if isinstance(error, THE_CHECKS + THE_CHECKS_OF_RIGHT_FORM * is_form_right):
        raise BrokenExerciseError(f"{check} fails by itself, {_place_of(error)}: {_in_words(error)}; mend the check")
    status, finding = _finding_of(error, limits, is_form_right=is_form_right)
    if status is not Status.NOT_RUN:
        finding = failed_case.complete(finding) if failed_case else structs.replace(finding, printed=printed)
    return Outcome(check=check, status=status, finding=finding, seconds=seconds)


def crash_finding(raised: Raised, limits: Limits) -> Finding:
    """Return the finding of an exception that the submission raised."""
    message = str(SubjectRaisedError(raised))
    if raised.is_kits:
        return Finding(kind=FailureKind.KIT, message=f"{KITS_OWN} ({excerpt(raised.text)})")
    if raised.text.startswith(FILE_TOO_LARGE):
        message = f"it printed more than {limits.output_bytes:,} bytes, the limit"
    elif OUT_OF_MEMORY.search(f"{raised.type}: {raised.text}"):
        message = f"it ran out of the memory it may use: {_memory(raised.text, limits)}"
    elif raised.type in ASKS_SOMEBODY and (raised.type != "EOFError" or raised.text == "EOF when reading a line"):
        message = f"it calls {ASKS_SOMEBODY[raised.type]}, and nobody is here to answer; {INSTEAD}"
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
    """Return the operation that crashed, with one word for operations that can be written in several ways."""
    operation = SAME_OPERATIONS.get(raised.operation, raised.operation)
    return f"building {operation}".strip() if raised.is_building else operation


def _memory(text: str, limits: Limits) -> str:
    """Return how much memory was requested, if the message says so, and how much is allowed."""
    allowed = f"{_size(limits.memory_mb << 20)} are allowed in all"
    asked = ASKED_FOR.search(text)
    if asked is None:
        return allowed
    return f"it asked for {_size(int(asked['bytes'])) if asked['bytes'] else asked['words']} at once, and {allowed}"


def _size(number: float) -> str:
    """A number of bytes as people say it; 1024 make the next unit."""
    unit = 0
    while number >= KILO and unit < len(UNITS) - 1:
        number, unit = number / KILO, unit + 1
    return f"{number:.1f} {UNITS[unit]}" if unit else f"{number:.0f} bytes"


def _finding_of(error: Exception, limits: Limits, *, is_form_right: bool) -> tuple[Status, Finding]:
    if isinstance(error, SubjectRaisedError):
        finding = crash_finding(error.raised, limits)
        if error.keywords:
            names = [error.called, *error.keywords]
            explanation = Explanation(kind=ExplanationKind.SIGNATURE, names=names)
            finding = structs.replace(finding, explanation=explanation)
        return Status.CRASHED, finding
    if isinstance(error, SubjectTimedOutError):
        finding = Finding(kind=FailureKind.TIMEOUT, message=f"it was {error}", location=error.location)
        return Status.TIMED_OUT, finding
    if isinstance(error, SubjectNotTriedError):
        return Status.NOT_RUN, Finding(kind=FailureKind.NO_TIME, message=str(error))
    if isinstance(error, SubjectDiedError):
        return Status.CRASHED, Finding(kind=FailureKind.DIED, message=f"it {error}")
    if isinstance(error, MisfitError):
        message = f"its parameters are not the interface's: {error}"
        return Status.FAILED, Finding(kind=FailureKind.PARAMETERS, message=message)
    if isinstance(error, Failure):
        return Status.FAILED, error.finding
    if isinstance(error, AssertionError):
        return Status.FAILED, Finding(kind=FailureKind.ASSERTION, message=_assertion_text(error))
    assert not isinstance(error, SubjectError)
    went_wrong = "is nothing this check can go on with" if is_form_right else "has another form than the interface says"
    message = f"what it returned {went_wrong}: {_in_words(error)}"
    return Status.FAILED, Finding(kind=FailureKind.FORM, detail=type(error).__name__, message=message)


def _in_words(error: BaseException) -> str:
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
