"""Findings about submissions on which no check can run: they do not load, or the class or function is missing."""

import re
from itertools import islice

from grader.checks.findings import crash_finding, raise_if_killed
from grader.checks.outcome import FailureKind, Finding
from grader.checks.session import SubjectError, SubjectRaisedError, SubjectTimedOutError
from grader.sandbox.protocol import Loaded
from grader.spec.exercise import Exercise, Limits
from grader.submission import Submission

SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")
FUNCTION = re.compile(r"^(?:async )?def (\w{1,80})", re.MULTILINE)
MAX_FUNCTIONS = 10
"""How many functions a message lists if the one to grade is missing."""


def load_finding(error: SubjectError, limits: Limits) -> Finding:
    """Return the finding of an error while the submission was loading."""
    raise_if_killed(error)
    if not isinstance(error, SubjectRaisedError):
        was, location = ("was ", error.location) if isinstance(error, SubjectTimedOutError) else ("", None)
        text = f"it {was}{error} while it was loading; keep the file to imports and definitions"
        return Finding(kind=FailureKind.LOAD, message=text, location=location)
    crash = crash_finding(error.raised, limits)
    verb = "cannot be compiled" if error.raised.type in SYNTAX_ERRORS else "raises while it is loading"
    next_step = "fix that line" if crash.location else "run the file by itself to see why"
    return _with_message(crash, f"it {verb}: {crash.message}; {next_step}")


def missing_entry(loaded: Loaded, submission: Submission, exercise: Exercise) -> Finding | None:
    """Return why no check can run on a submission that loaded; None if it has the class or function to grade."""
    interface = exercise.interface
    name, noun = interface.entry(), "function" if interface.function else "class"
    needs_module = noun == "class" and interface.kind.class_is_module
    if loaded.entry_found and (loaded.entry_is_module or not needs_module):
        return None
    if loaded.entry_found:
        message = f"{name} is not a subclass of torch.nn.Module; derive it from nn.Module"
        return Finding(kind=FailureKind.ENTRY, message=message)
    if loaded.tolerated is not None:
        crash = crash_finding(loaded.tolerated, exercise.limits)
        message = f"a cell raises before there is a {noun} {name}: {crash.message}; fix that line"
        return _with_message(crash, message)
    names = _function_names(submission) if noun == "function" else list(loaded.classes)
    plural = "functions" if noun == "function" else "classes"
    found = ", ".join(names) or "none"
    message = f"there is no {noun} {name}; the {plural} found: {found}; name your {noun} {name}"
    return Finding(kind=FailureKind.ENTRY, message=message, names_found=names)


def _with_message(crash: Finding, message: str) -> Finding:
    """Return the crash's finding with another message."""
    return Finding(kind=crash.kind, detail=crash.detail, message=message, location=crash.location)


def _function_names(submission: Submission) -> list[str]:
    """Return the names of the first top-level functions, found by a search: parsing a hostile source may crash."""
    names = (found[1] for chunk in submission.chunks for found in FUNCTION.finditer(chunk.text))
    return list(islice(names, MAX_FUNCTIONS))
