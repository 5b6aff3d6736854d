"""Run an exercise's checks over submissions: properties by the kit itself, hidden test files by pytest."""

import hashlib
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import torch
from msgspec import structs

from grader.checks.case import seed_from_name
from grader.checks.compare import counted_comparisons
from grader.checks.context import Context
from grader.checks.default_dtype import find_default_dtype_change
from grader.checks.failure import Advice, Failure, naming_output_axes
from grader.checks.findings import outcome_of_error
from grader.checks.outcome import Examination, FailureKind, FailurePoint, Finding, Outcome, Status, last_lines
from grader.checks.outputs import axes_of_outputs
from grader.checks.proxies import MisfitError, SubjectFactory
from grader.checks.recording import NotRecordedError, Recording
from grader.checks.reference import AbsentReference, Reference
from grader.checks.reference_cache import ReferenceCache
from grader.checks.session import (
    Session,
    SubjectError,
    SubjectRaisedError,
    unexpected_reply,
)
from grader.checks.size_cases import SizeCasePlan, SizeCasePlanner
from grader.checks.tape import FailedCheck, Tape
from grader.checks.unloadable import load_finding, missing_entry
from grader.checks.walk import SizeCaseFailedError, run_at, walk
from grader.errors import BrokenExerciseError, SpecError
from grader.processes.workers import WorkerSource, protections
from grader.sandbox.calling_variants import Mode
from grader.sandbox.probes import ProbeFunction, name_of
from grader.sandbox.protocol import Built, Call, Isolation, Request, Returned
from grader.sandbox.values import TORCH_DTYPES, from_python, to_python
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.spec.properties import Property
from grader.submission import Submission

FINGERPRINT_LENGTH = 8

T = TypeVar("T")


class RunnableCheck(Protocol):
    """A check: a property, or a hidden test."""

    name: str
    place: str
    """The file, and the line where known, for error messages."""
    compares_values: bool
    """Whether it compares values with the reference's."""
    is_slow: bool
    """Whether it gets the full time limit of a check."""

    def run(self, context: Context, seed: int, point: FailurePoint | None = None) -> None:
        """Raise an exception if the submission fails the check; `seed` seeds the inputs.

        With `point`, run the check only at the size case of that point.
        """


class PropertyCheck:
    """An entry of `checks:` in exercise.yaml, run at each of its size cases."""

    def __init__(self, record: Property, place: str, planner: SizeCasePlanner) -> None:
        self.name, self.place = record.id, place
        self.compares_values, self.is_slow = record.compares_values(), record.is_slow
        self._record, self._planner = record, planner
        self._planned: tuple[int, SizeCasePlan] | None = None
        """The seed of the last run, and its size cases, which other submissions reuse."""

    def run(self, context: Context, seed: int, point: FailurePoint | None = None) -> None:
        if self._planned is None or self._planned[0] != seed:
            self._planned = seed, self._planner.plan(self._record, seed)
        plan = self._planned[1]
        if point is None:
            walk(self._record, context, plan)
        else:
            run_at(self._record, context, plan, point)


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """How one attempt to run a check ended. If the check is repeated, only the last attempt counts."""

    error: Exception | None
    """What the check raised: a failure of the submission, or an error of the kit."""
    comparisons: int
    """How many comparisons the check made."""
    advice: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class _CheckRun:
    """The result of a check."""

    check: str
    outcome: Outcome | None = None
    """None if the check cannot run here."""
    deviation: object = None
    point: FailurePoint | None = None
    """Where the check failed."""
    calls_entry: bool = False
    """Whether the check called the submission's class or function itself, and the reference."""

    def has_passed(self) -> bool:
        return self.outcome is not None and self.outcome.status is Status.PASSED

    def with_outcome(self, **changes: Any) -> Self:
        """Return the result with fields of its outcome changed."""
        assert self.outcome is not None
        return replace(self, outcome=structs.replace(self.outcome, **changes))


class Runner:
    """Runs an exercise's checks over one submission after another.

    Make it after opening the worker source, and close it after use. Raises `KitError` if the hidden tests cannot be
    collected, and `SpecError` if two checks have the same name. `strict` raises `OpenHostError` if a submission could
    reach files or the network.
    """

    def __init__(self, course: Course, exercise: Exercise, source: WorkerSource, *, strict: bool = False) -> None:
        self.exercise = exercise
        self._name = Path(course.module_name(exercise.id)).stem
        self._strict = strict
        self._source = source
        has_reference = exercise.edition.HAS_REFERENCE
        self.recording = None if has_reference else Recording(course.answers(exercise.id))
        self.reference = (
            new_reference(course, exercise) if has_reference else ReferenceCache(AbsentReference(), self.recording)
        )
        place = str(course.description(exercise.id).relative_to(course.root))
        planner = SizeCasePlanner(exercise)
        self._checks: list[RunnableCheck] = [PropertyCheck(record, place, planner) for record in exercise.checks]
        self._opened = ExitStack()
        if hidden := sorted(course.hidden_tests(exercise.id).glob("test_*.py")):
            from grader.checks.hidden_tests import collect_hidden_tests  # imports pytest, which takes 0.1 s

            self._checks += self._opened.enter_context(collect_hidden_tests(course.root, hidden))
        _require_unique_names(self._checks)
        self._value_checks = frozenset(check.name for check in self._checks if check.compares_values)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End pytest's session if there are hidden tests."""
        self._opened.close()

    def check_ids(self) -> list[str]:
        """Return the names of all checks, in order."""
        return [check.name for check in self._checks]

    def examine(
        self,
        submission: Submission,
        seed: int,
        *,
        dtype: str = "float32",
        stops_at_failure: bool = False,
        only: Collection[str] | None = None,
        at: Mapping[str, FailurePoint] | None = None,
    ) -> Examination:
        """Run the checks over the submission: all of them, those named in `only`, or those of `at` at their points.

        `seed` seeds the inputs; `dtype` is torch's default dtype during the checks.
        """
        started = time.monotonic()
        session = self._open_session(submission, dtype)
        torch.set_default_dtype(TORCH_DTYPES[dtype])
        runs: list[_CheckRun] = []
        methods: dict[str, str] = {}
        try:
            loaded = session.load()
            unloadable = missing_entry(loaded, submission, self.exercise)
            if unloadable is None:
                names = at if only is None else only
                checks = [check for check in self._checks if names is None or check.name in names]
                all_runs = self._run_checks(session, checks, seed, dtype, at or {})
                runs.extend(_until_a_failure(all_runs) if stops_at_failure else all_runs)
            methods = {name: _fingerprints(tree) for name, tree in loaded.trees.items()}
        except SubjectError as error:
            unloadable = load_finding(error, self.exercise.limits)
        finally:
            torch.set_default_dtype(torch.float32)
            session.close()
        return self._examination(runs, unloadable, methods, session.isolation, time.monotonic() - started)

    def record(self, submission: Submission, seed: int, check_id: str) -> FailedCheck | None:
        """Run one check again and record its requests; None if it does not fail now."""
        check = next(each for each in self._checks if each.name == check_id)
        session = self._open_session(submission)
        try:
            session.load()
            error = self._repeat_if_stale(lambda: self._recorded_error(session, check, seed))
            if error is None or isinstance(error, NotRecordedError):
                return None
            if isinstance(error, SizeCaseFailedError):
                seeds = [seed_from_name(error.size_case.name)]
                return FailedCheck(check=check_id, error=error.error, steps=error.steps, seeds=seeds)
            steps = session.tape.steps if session.tape else []
            return FailedCheck(check=check_id, error=error, steps=steps, seeds=[seed_from_name(f"{seed}/{check.name}")])
        finally:
            session.close()

    def repeat(self, submission: Submission, requests: Sequence[Request], probe: ProbeFunction, **options: Any) -> Any:
        """Send recorded requests again, the last call with `probe` in its place, and return the probe's value.

        The probe gets the name of the submission's module and the called method, besides the options. Raises
        `SubjectError` if the submission does not answer.
        """
        session = self._open_session(submission)
        last = max(number for number, request in enumerate(requests) if isinstance(request, Call))
        call = requests[last]
        assert isinstance(call, Call)
        options |= {"name": self._name, "method": call.method}
        try:
            session.load()
            session.begin_check(has_full_time=True)
            for request in requests[:last]:
                with suppress(SubjectRaisedError):  # a check may go on after it, and so does its repetition
                    session.request(request)
            values = {name: from_python(value) for name, value in options.items()}
            probing = structs.replace(call, method="", probe=name_of(probe), options=values, cotangents=None, more=None)
            reply = session.request(probing)
            if isinstance(reply, Built):  # recorded weights do not fit, so the module keeps its own
                reply = session.request(structs.replace(probing, build=None))
        finally:
            session.close()
        if not isinstance(reply, Returned):
            raise unexpected_reply()
        return to_python(reply.value)

    def _open_session(self, submission: Submission, dtype: str = "float32") -> Session:
        return Session(
            self._source,
            self.exercise,
            submission,
            strict=self._strict,
            dtype=dtype,
            name=self._name,
            reference_seconds=self.reference.seconds,
        )

    def _examination(
        self,
        runs: list[_CheckRun],
        unloadable: Finding | None,
        methods: dict[str, str],
        isolation: Isolation | None,
        seconds: float,
    ) -> Examination:
        outcomes = [run.outcome for run in runs if run.outcome is not None]
        variants = {each.check: each.finding.calling_variant for each in outcomes if each.finding}
        return Examination(
            outcomes=outcomes,
            unloadable=unloadable,
            methods=methods,
            isolation=protections(isolation) if isolation else {},
            seconds=seconds,
            deviations={run.check: run.deviation for run in runs if run.deviation is not None},
            failure_points={run.check: run.point for run in runs if run.point is not None},
            value_checks=self._value_checks,
            partial_value_checks=self._partial_value_checks(runs),
            failed_in_training_variant=frozenset(
                check for check, variant in variants.items() if variant and variant.mode is Mode.TRAINING
            ),
        )

    def _partial_value_checks(self, runs: list[_CheckRun]) -> frozenset[str]:
        """Return the value checks whose success says nothing about what a call returns.

        Some checks never call the submission's class or function. A variation may ignore what a call returns, so once a
        check has found a wrong type, a pass of a variation says nothing either.
        """
        is_of_other_type = any(
            run.outcome and run.outcome.finding and run.outcome.finding.kind is FailureKind.TYPE for run in runs
        )
        whole = {run.check for run in runs if run.calls_entry}
        if is_of_other_type:
            whole -= {check.id for check in self.exercise.checks if check.variation_class()}
        return self._value_checks - whole

    def _run_checks(
        self,
        session: Session,
        checks: list[RunnableCheck],
        seed: int,
        dtype: str,
        points: Mapping[str, FailurePoint],
    ) -> Iterator[_CheckRun]:
        """Yield the result of each check, in order."""
        is_change_reported = False
        for check in checks:
            if why_over := session.why_over():
                finding = Finding(kind=FailureKind.NO_TIME, message=why_over)
                outcome = Outcome(check=check.name, status=Status.NOT_RUN, finding=finding)
                yield _CheckRun(check=check.name, outcome=outcome)
                continue
            run = self._run_check(session, check, seed, dtype, points.get(check.name))
            if check is checks[-1]:  # after all other calls, because a right module may keep tensors of this dtype
                changed = find_default_dtype_change(session, self.exercise, seed)
                session.observed = structs.replace(session.observed, changed=session.observed.changed or changed)
            if (changed := session.observed.changed) and not is_change_reported and run.has_passed():
                is_change_reported = True
                finding = Finding(kind=FailureKind.STATE_CHANGED, message=changed)
                run = run.with_outcome(status=Status.FAILED, finding=finding, advice="")
            yield run

    def _run_check(
        self, session: Session, check: RunnableCheck, seed: int, dtype: str, point: FailurePoint | None
    ) -> _CheckRun:
        """Run a check and return its result; raise the kit's own errors."""
        observed = session.observed

        def attempt() -> _Attempt:
            session.observed = observed  # without what an earlier attempt observed
            return self._attempt(session, check, seed, dtype, point)

        last = self._repeat_if_stale(attempt)
        cause = _cause_of(last.error)
        run = _CheckRun(
            check=check.name,
            outcome=self._outcome(session, check.name, last),
            deviation=cause.deviation if isinstance(cause, Failure | MisfitError) else None,
            point=_failure_point(last),
            calls_entry=session.log.entry_calls > 0 and self.reference.was_called(),
        )
        return run.with_outcome(advice=last.advice) if last.advice and run.has_passed() else run

    def _repeat_if_stale(self, attempt: Callable[[], T]) -> T:
        """Run a check, and run it again if the reference's answers were dropped; return the last result."""
        result = attempt()
        return attempt() if self.reference.is_to_be_repeated() else result

    def _attempt(
        self, session: Session, check: RunnableCheck, seed: int, dtype: str, point: FailurePoint | None
    ) -> _Attempt:
        """Run a check once."""
        session.begin_check(has_full_time=check.is_slow)
        session.printed()  # discard what earlier checks printed
        self.reference.begin(check.name, seed, dtype)
        with warnings.catch_warnings(record=True) as advice:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", Advice)
            started = time.perf_counter()
            axes = axes_of_outputs(self.exercise.interface)
            with counted_comparisons(point.comparisons if point else 0) as counted, naming_output_axes(axes):
                error = _error_of(check, self._context(session), seed, point)
            seconds = time.perf_counter() - started
        first_advice = str(advice[0].message) if advice else ""
        return _Attempt(error=error, comparisons=counted.done, advice=first_advice, seconds=seconds)

    def _recorded_error(self, session: Session, check: RunnableCheck, seed: int) -> Exception | None:
        """Run a check once, with its requests on a new tape, and return its error."""
        session.tape = Tape()
        session.begin_check(has_full_time=True)
        self.reference.begin(check.name, seed, "float32")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _error_of(check, self._context(session), seed)

    def _context(self, session: Session) -> Context:
        """Return the context of one check."""
        return Context(subject=SubjectFactory(session), reference=self.reference, exercise=self.exercise)

    def _outcome(self, session: Session, check: str, attempt: _Attempt) -> Outcome | None:
        """Return the outcome of a check, or None if it can only run at hand-in; raise the kit's own errors."""
        error = attempt.error
        if isinstance(_cause_of(error), NotRecordedError):
            return None
        limits, is_form_right = self.exercise.limits, session.log.is_form_right
        printed = last_lines(session.printed()) if error is not None else ""
        call = session.log.last_call()
        try:
            return outcome_of_error(
                check, error, attempt.seconds, limits, printed=printed, last_call=call, is_form_right=is_form_right
            )
        except BrokenExerciseError as broken:
            raise BrokenExerciseError(f"{self.exercise.id}: {broken}") from None


def new_reference(course: Course, exercise: Exercise) -> ReferenceCache:
    """Return the reference of an exercise, with no answers yet."""
    return ReferenceCache(Reference(course.reference(exercise.id), exercise))


def _cause_of(error: Exception | None) -> Exception | None:
    """Return the error that a check raised at a size case, or otherwise the error itself."""
    return error.error if isinstance(error, SizeCaseFailedError) else error


def _failure_point(attempt: _Attempt) -> FailurePoint | None:
    """Return where a check failed: at a size case, or after so many comparisons of a hidden test."""
    if isinstance(attempt.error, SizeCaseFailedError):
        return attempt.error.point
    return FailurePoint(comparisons=attempt.comparisons) if attempt.error is not None else None


def _error_of(check: RunnableCheck, context: Context, seed: int, point: FailurePoint | None = None) -> Exception | None:
    """Run a check and return its error."""
    try:
        check.run(context, seed, point)
    except Exception as error:  # noqa: BLE001 - `Runner._outcome` decides whose fault it is, and `record` returns it
        return error
    return None


def _require_unique_names(checks: list[RunnableCheck]) -> None:
    """Raise `SpecError` if two checks have the same name, since outcomes are identified by name."""
    first: dict[str, RunnableCheck] = {}
    problems = []
    for check in checks:
        other = first.setdefault(check.name, check)
        if other is not check:
            problems.append(
                f"{check.place}: expected a unique name, got {check.name}, the name of {other.place}; rename one"
            )
    if problems:
        raise SpecError(problems)


def _until_a_failure(runs: Iterator[_CheckRun]) -> Iterator[_CheckRun]:
    """Yield runs up to and including the first that does not pass."""
    for run in runs:
        yield run
        if run.outcome is not None and not run.has_passed():
            return


def _fingerprints(tree: str) -> str:
    """Return a fingerprint of each statement of a method, with spaces between them."""
    lines = (line.encode("utf-8", "surrogatepass") for line in tree.split("\n"))
    return " ".join(hashlib.sha256(line).hexdigest()[:FINGERPRINT_LENGTH] for line in lines)
