"""Claims about the values inside a student's file, and the call at which they are answered.

The call is the one that the first failed check makes and that `try` repeats. If no check fails, it is an ordinary call.
It is stored with the claims about it. After a fix, when that check passes, the claims are answered again in this call.
"""

import re
from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from grader.checks.outcome import Status
from grader.report.causes import shown_causes
from grader.report.guide import CallError, ClaimAnswer, ListedCall, ListedValue
from grader.sandbox.protocol import Build, Call, Request, TensorValue
from grader.spec.exercise import Exercise
from grader.spec.files import write_cache
from grader.spec.paths import Course
from grader.spec.properties import Property
from grader.student.claim_forms import ValueClaim
from grader.submission import Submission
from grader.verdict.judge import Judge
from grader.verdict.verdict import Verdict

SMALL_SIZE_CASE = 2
"""The fixed size case of an ordinary call: several samples and tokens, but few."""

MAX_CHECKS = 4
"""How many of the failed checks of a cause are recorded, to choose the smallest call."""

ORDINARY = Property(id="ordinary")
"""A check of an ordinary call, which has the interface's own arguments."""


class StoredCall(Struct, frozen=True, kw_only=True):
    """A recorded call, and the ids of the check and the defects that it is about; without a check, an ordinary call."""

    requests: list[Request]
    check: str = ""
    defects: list[str] = []
    source: str = ""
    """The source of the file at that time, if it is one text."""


class MadeClaim(Struct, frozen=True, kw_only=True):
    """A claim whose answer the student called wrong: its text, the number of its call, and its answer."""

    text: str
    call: int
    answer: bool
    was_changed: bool = False
    """Whether an edit changed the answer."""


class StoredCalls(Struct, frozen=True, kw_only=True):
    """The calls in which a student made claims. The last one is the call that the second card showed last."""

    calls: list[StoredCall] = []
    claims: list[MadeClaim] = []
    catching: dict[str, str] = {}
    """The id of the check whose call showed each defect, by the defect's id."""

    def with_call(self, call: StoredCall) -> "StoredCalls":
        """Return the calls with a new last call, and without calls that no claim needs."""
        needed = sorted({each.call for each in self.claims})
        return StoredCalls(
            calls=[*(self.calls[number] for number in needed), call],
            claims=[structs.replace(each, call=needed.index(each.call)) for each in self.claims],
            catching={**self.catching, **dict.fromkeys(call.defects, call.check)},
        )

    def with_claim(self, text: str, *, answer: bool) -> "StoredCalls":
        """Return the calls, with a new claim about the last one. It replaces the same claim about an equal call."""
        last = len(self.calls) - 1
        requests = self.calls[last].requests
        others = [each for each in self.claims if (each.text, self.calls[each.call].requests) != (text, requests)]
        return structs.replace(self, claims=[*others, MadeClaim(text=text, call=last, answer=answer)])

    def with_changed(self, claim: MadeClaim) -> "StoredCalls":
        """Return the calls with a note that an edit changed the answer to a claim."""
        changed = [structs.replace(each, was_changed=True) if each == claim else each for each in self.claims]
        return structs.replace(self, claims=changed)

    def calls_of(self, text: str) -> list[StoredCall]:
        """Return the calls in which a claim was made; none if they are not stored."""
        return [self.calls[each.call] for each in self.claims if each.text == text]


def find_call(
    judge: Judge, exercise: Exercise, submission: Submission, verdict: Verdict
) -> tuple[StoredCall, ListedCall]:
    """Return a call and its values: the last call of a failed check, else an ordinary call.

    Of the checks that the first cause fails, the one with the smallest inputs is chosen. A call with a single token or
    pixel shows little, so the check's arguments are then used at larger sizes.
    """
    for cause in shown_causes(verdict):
        if cause.status is Status.NOT_RUN:
            continue
        calls = []
        for check in cause.checks[:MAX_CHECKS]:
            failed = judge.record(exercise.id, submission, verdict.seed, check)
            requests = [step.request for step in failed.steps] if failed else []
            if any(isinstance(request, Call) for request in requests):
                calls.append(StoredCall(requests=requests, check=check, defects=cause.defects))
        calls.sort(key=lambda each: (not _is_telling(each), len(msgspec.msgpack.encode(each.requests))))
        if calls and not _is_telling(calls[0]):
            calls = [_larger_call(exercise, calls[0], verdict.seed), *calls]
        for call in calls:
            listed = list_values(judge, exercise.id, submission, call)
            if listed.has_values():
                return call, listed
    call = _ordinary_call(exercise, ORDINARY, verdict.seed)
    return call, list_values(judge, exercise.id, submission, call)


def _is_telling(call: StoredCall) -> bool:
    """Return whether the last call has a tensor with more than one element along every axis but one."""
    last = next(each for each in reversed(call.requests) if isinstance(each, Call))
    shapes = [each.shape for each in last.arguments.values() if isinstance(each, TensorValue)]
    return not shapes or any(sum(size == 1 for size in shape) <= 1 for shape in shapes)


def _larger_call(exercise: Exercise, call: StoredCall, seed: int) -> StoredCall:
    """Return a call with the arguments of the call's check, at larger sizes; the call itself for a hidden test."""
    check = next((each for each in exercise.checks if each.id == call.check), None)
    if check is None:
        return call
    larger = _ordinary_call(exercise, check, seed)
    if not _is_telling(larger):
        larger = _ordinary_call(exercise, structs.replace(check, sizes=[]), seed)
    return structs.replace(larger, check=call.check, defects=call.defects)


def _ordinary_call(exercise: Exercise, check: Property, seed: int) -> StoredCall:
    """Return a call at small sizes with the arguments of a check."""
    sizes = exercise.fixed_sizes_of(check)[: SMALL_SIZE_CASE + 1][-1]
    return StoredCall(requests=[*ordinary_requests(exercise, check, sizes, f"{seed}/ordinary")])


def ordinary_requests(exercise: Exercise, check: Property, sizes: dict[str, int], draws: str) -> tuple[Build, Call]:
    """Return the requests of a call with the arguments of a check; `draws` seeds its inputs."""
    from grader.checks.adapters import adapter_of
    from grader.checks.case import make_case, seed_draws  # imports torch
    from grader.checks.size_cases import SizeCase
    from grader.sandbox.values import from_python

    seed_draws(draws)
    case, interface = make_case(exercise, check, SizeCase(sizes=sizes)), exercise.interface
    arguments, inputs = (
        {name: from_python(value) for name, value in given.items()} for given in (case.arguments, case.inputs)
    )
    build = Build(module=1, entry=interface.entry(), arguments=arguments, adapter=adapter_of(interface))
    return build, Call(module=1, arguments=inputs, method=check.method, training=check.training)


def list_values(judge: Judge, exercise_id: str, submission: Submission, call: StoredCall) -> ListedCall:
    """Return the values of a call; none if the submission does not answer."""
    from grader.checks.session import SubjectError
    from grader.sandbox.probes import claims

    try:
        listed = judge.repeat(exercise_id, submission, call.requests, claims.list_values)
    except SubjectError:
        return ListedCall()
    reply = listed if isinstance(listed, dict) else {}
    values = [_converted(row, ListedValue) for row in _rows(reply.get("values"))]
    errors = [_converted(row, CallError) for row in _rows([reply.get("error") or 0])]
    error = next(iter(errors), None)
    return ListedCall(values=named_returns([each for each in values if each is not None], error), error=error)


def named_returns(values: list[ListedValue], error: CallError | None) -> list[ListedValue]:
    """Return the values; what an inner function returned has the function's name in front.

    The outermost function returns last. After an exception it returned nothing.
    """
    returned = [each.function for each in values if RETURNED.match(each.name)]
    outermost = returned[-1] if returned and error is None else ""
    return [
        structs.replace(each, name=f"{each.function}.{each.name}")
        if RETURNED.match(each.name) and each.function not in ("", outermost)
        else each
        for each in values
    ]


RETURNED = re.compile(r"returned(?:\[|$)")
"""The names of what a function returned."""


Record = TypeVar("Record", bound=Struct)


def _converted(row: list[Any], record: type[Record]) -> Record | None:
    """Return a record with the fields in a row; None for another row, since a reply may be any value."""
    with suppress(msgspec.ValidationError):
        return msgspec.convert(dict(zip(record.__struct_fields__, row, strict=False)), record)
    return None


def answer_claims(
    judge: Judge, exercise_id: str, submission: Submission, call: StoredCall, claims: list[ValueClaim]
) -> list[ClaimAnswer]:
    """Return the answer to each claim."""
    from grader.checks.session import SubjectError
    from grader.sandbox.probes import claims as probe

    sent, failure = [msgspec.to_builtins(claim) for claim in claims], "it was not answered"
    try:
        rows = _rows(judge.repeat(exercise_id, submission, call.requests, probe.answer_claims, claims=sent))
    except SubjectError as error:
        rows, failure = [], f"the call failed: {error}"
    answers = [ClaimAnswer(is_true=None, evidence=failure)] * len(claims)
    for number, (claim, row) in enumerate(zip(claims, rows, strict=False)):
        is_true, evidence = [*row, None, None][:2]
        if isinstance(is_true, bool):
            is_true = is_true is not claim.is_negated
        answers[number] = ClaimAnswer(is_true=is_true if isinstance(is_true, bool) else None, evidence=str(evidence))
    return answers


def _rows(value: Any) -> list[list[Any]]:
    """Return the rows of a reply, which may be any value."""
    rows = value if isinstance(value, list | tuple) else []
    return [[*row] for row in rows if isinstance(row, list | tuple)]


def moved_line(line: int, before: str, after: str) -> int:
    """Return a line's number in a later version of the text."""
    old, new = before.splitlines(), after.splitlines()
    for _, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if start < line <= end:
            return min(new_start + line - start, max(new_end, new_start + 1))
    return line


def moved_claim(claim: ValueClaim, before: str, after: str) -> ValueClaim:
    """Return a claim with the line to which its line has moved."""
    is_about_line = bool(claim.line and before and after)
    return structs.replace(claim, line=moved_line(claim.line, before, after)) if is_about_line else claim


def source_of(submission: Submission) -> str:
    """Return the source of a submission; empty if it consists of several cells."""
    return submission.chunks[0].text if len(submission.chunks) == 1 else ""


def store_calls(course: Course, exercise_id: str, calls: StoredCalls) -> None:
    """Store the calls. On a read-only disk, do nothing."""
    write_cache(_path(course, exercise_id), msgspec.msgpack.encode(calls))


def load_calls(course: Course, exercise_id: str) -> StoredCalls:
    """Return the stored calls; none if there are none or their file is damaged."""
    with suppress(OSError, ValueError, msgspec.MsgspecError, RecursionError):
        calls = msgspec.msgpack.decode(_path(course, exercise_id).read_bytes(), type=StoredCalls)
        if all(0 <= each.call < len(calls.calls) for each in calls.claims):
            return calls
    return StoredCalls()


def _path(course: Course, exercise_id: str) -> Path:
    return course.state_folder() / "guide" / f"{exercise_id}.msgpack"
