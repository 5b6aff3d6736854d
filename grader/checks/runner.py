"""Run an exercise's checks over submissions: properties by the kit itself, hidden test files by pytest."""

import hashlib
import re
import time
import warnings
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol, Self

import torch
from msgspec import structs

from grader.checks.calling_variants import is_of_training
from grader.checks.compare import Advice, Failure
from grader.checks.context import Context
from grader.checks.findings import crash_finding, outcome_of_error
from grader.checks.outcome import STATE_CHANGED, Examination, Finding, Outcome, Status, Tried, last_lines
from grader.checks.proxies import MisfitError, Subject
from grader.checks.recording import NotRecordedError, Recording
from grader.checks.reference import AbsentReference, Reference
from grader.checks.reference_cache import ReferenceCache
from grader.checks.session import (
    Session,
    SubjectError,
    SubjectKilledError,
    SubjectRaisedError,
    SubjectTimedOutError,
)
from grader.checks.size_cases import FixedAndRandom, size_cases_of
from grader.checks.walk import walk
from grader.errors import BrokenExerciseError, SpecError, WorkerKilledError
from grader.processes.workers import WorkerSource, protections
from grader.sandbox.protocol import Isolation, Loaded
from grader.sandbox.values import TORCH_DTYPES
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.spec.properties import Property
from grader.submission import Submission

FINGERPRINT_LENGTH = 12
SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")
FUNCTION = re.compile(r"^(?:async )?def (\w{1,80})", re.MULTILINE)
MOST_FUNCTIONS = 10
"""As many functions are named where the one that is graded is missing."""


class RunnableCheck(Protocol):
    """A check: a property, or a hidden test."""

    name: str
    place: str
    """The file, and the line where known, for error messages."""
    compares_values: bool
    """Whether passing takes the reference's values."""
    is_slow: bool
    """Whether it gets the full time limit of a check."""

    def run(self, context: Context, seed: int) -> None:
        """Raise where the submission fails the check; `seed` is that of the inputs."""


class PropertyCheck:
    """One line of `checks:`, run at each of its size cases."""

    def __init__(self, record: Property, place: str) -> None:
        self.name, self.place = record.id, place
        self.compares_values, self.is_slow = record.compares_values(), record.is_slow
        self._record = record
        self._size_cases: tuple[int, Exercise, FixedAndRandom] | None = None

    def run(self, context: Context, seed: int) -> None:
        known = self._size_cases
        if known is None or known[0] != seed or known[1] is not context.exercise:
            known = self._size_cases = seed, context.exercise, size_cases_of(self._record, context.exercise, seed)
        walk(self._record, context, known[2])


@dataclass
class _CheckRun:
    """The result of one run of a check; a repeated run replaces it."""

    check: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    saw: object = None
    is_whole: bool = False
    is_starved: bool = False
    failure: BaseException | None = None
    """An error of the kit, to be raised unless the check is repeated."""

    def has_passed(self) -> bool:
        return bool(self.outcomes) and self.outcomes[-1].status is Status.PASSED


class Runner:
    """Holds an exercise's checks and reference, and runs them over one submission after another.

    To be made after the worker source is opened, and closed after use. Raises `KitError` where the hidden tests cannot
    be collected, `SpecError` where two checks have one name. `strict` refuses, with an `OpenHostError`, to run a
    submission that could reach files or the network.
    """

    def __init__(self, course: Course, exercise: Exercise, source: WorkerSource, *, strict: bool = False) -> None:
        self.exercise = exercise
        self.seed = 0
        self._name = Path(course.module_name(exercise.id)).stem
        self._strict = strict
        self._source = source
        has_reference = exercise.edition.HAS_REFERENCE
        self.recording = None if has_reference else Recording(course.answers(exercise.id))
        self.reference = ReferenceCache(
            Reference(course.reference(exercise.id), exercise.interface) if has_reference else AbsentReference(),
            self.recording,
        )
        self._session: Session | None = None
        place = str(course.description(exercise.id).relative_to(course.root))
        self._checks: list[RunnableCheck] = [PropertyCheck(record, place) for record in exercise.checks]
        self._opened = ExitStack()
        if hidden := sorted(course.hidden_tests(exercise.id).glob("test_*.py")):
            from grader.checks.hidden_tests import collect_hidden_tests  # imports pytest, in a tenth of a second

            self._checks += self._opened.enter_context(collect_hidden_tests(course.root, hidden))
        _require_own_names(self._checks)
        self._comparing = frozenset(check.name for check in self._checks if check.compares_values)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End pytest's session, where hidden tests needed one."""
        self._opened.close()

    def check_ids(self) -> list[str]:
        """The checks that every submission meets, in order."""
        return [check.name for check in self._checks]

    def examine(
        self,
        submission: Submission,
        seed: int,
        *,
        dtype: str = "float32",
        stops_at_failure: bool = False,
        only: Collection[str] = (),
    ) -> Examination:
        """Run every check over the submission, or those named by `only`.

        `seed` is that of the inputs, `dtype` torch's default dtype.
        """
        started = time.monotonic()
        self.seed = seed
        session = self._session = Session(
            self._source,
            self.exercise,
            submission,
            strict=self._strict,
            dtype=dtype,
            name=self._name,
            reference_seconds=self.reference.seconds,
        )
        torch.set_default_dtype(TORCH_DTYPES[dtype])
        runs: list[_CheckRun] = []
        methods: dict[str, str] = {}
        try:
            loaded = session.load()
            unloadable = self._why_unloadable(loaded, submission)
            if unloadable is None:
                checks = [check for check in self._checks if not only or check.name in only]
                found = self._run_checks(session, checks, dtype)
                runs.extend(_up_to_a_failure(found) if stops_at_failure else found)
            methods = {name: _fingerprint(tree) for name, tree in loaded.trees.items()}
        except SubjectError as error:
            unloadable = self._load_finding(error)
        finally:
            torch.set_default_dtype(torch.float32)
            session.close()
        return self._examination(runs, unloadable, methods, session.isolation, time.monotonic() - started)

    def _examination(
        self,
        runs: list[_CheckRun],
        unloadable: Finding | None,
        methods: dict[str, str],
        isolation: Isolation | None,
        seconds: float,
    ) -> Examination:
        outcomes = [outcome for run in runs for outcome in run.outcomes]
        in_training = {each.check for each in outcomes if each.finding and is_of_training(each.finding.text)}
        return Examination(
            outcomes,
            unloadable,
            methods,
            protections(isolation) if isolation else {},
            seconds,
            saw={run.check: run.saw for run in runs if run.saw is not None},
            comparing=self._comparing,
            comparing_parts=self._comparing.difference(run.check for run in runs if run.is_whole),
            in_training=frozenset(in_training),
        )

    def _run_checks(self, session: Session, checks: list[RunnableCheck], dtype: str) -> Iterator[_CheckRun]:
        """Yield the result of each check, in order; a run that is repeated leaves nothing behind."""
        is_change_reported = False  # one cause is reported once
        for check in checks:
            if why_over := session.why_over():
                yield _CheckRun(check.name, [Outcome(check.name, Status.NOT_RUN, Finding("no-time", why_over))])
                continue
            before = session.observed
            run = self._run_check(session, check, dtype)
            is_repeated = self.reference.is_to_be_repeated()
            if is_repeated or run.is_starved:
                session.observed = before
                run = self._run_check(session, check, dtype, is_retry=not is_repeated)
            if run.failure is not None:
                raise run.failure
            if (changed := session.observed.changed) and not is_change_reported and run.has_passed():
                is_change_reported = True
                run.outcomes[-1] = structs.replace(
                    run.outcomes[-1], status=Status.FAILED, finding=Finding(STATE_CHANGED, changed), advice=""
                )
            yield run

    def _run_check(self, session: Session, check: RunnableCheck, dtype: str, *, is_retry: bool = False) -> _CheckRun:
        session.begin_check()
        if is_retry or check.is_slow:
            session.allow_all()
        session.printed()  # discard what earlier checks printed
        self.reference.begin(check.name, self.seed, dtype)
        with warnings.catch_warnings(record=True) as advice:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", Advice)
            started = time.perf_counter()
            error: Exception | None = None
            try:
                check.run(self._context(session), self.seed)
            except Exception as raised:  # noqa: BLE001 - `_result` sorts out whose fault it is
                error = raised
            seconds = time.perf_counter() - started
        run = self._result(session, check.name, error, seconds)
        run.is_whole = session.log.calls_of_the_module > 0 and self.reference.was_called()
        if advice and run.has_passed():
            run.outcomes[-1] = structs.replace(run.outcomes[-1], advice=str(advice[0].message))
        return run

    def _context(self, session: Session) -> Context:
        """Subject and reference for one check."""
        return Context(
            Subject(session),
            self.reference,
            self.exercise,
            session.printed,
            lambda: session.observed.answers_in_calling_variants,
            lambda: session.log.returned,
        )

    def _result(self, session: Session, check: str, error: Exception | None, seconds: float) -> _CheckRun:
        """Turn the end of a check's run into its result."""
        run = _CheckRun(check)
        if error is not None:
            vars(error).setdefault("tried", Tried(printed=last_lines(session.printed())))
        run.is_starved = isinstance(error, SubjectTimedOutError) and error.is_starved
        run.saw = error.saw if isinstance(error, Failure | MisfitError) else None
        if isinstance(error, NotRecordedError):
            return run  # the check waits until the exercise is handed in
        limits, is_form_right = self.exercise.limits, session.log.is_form_right
        try:
            run.outcomes.append(outcome_of_error(check, error, seconds, limits, is_form_right=is_form_right))
        except BrokenExerciseError as own:
            run.failure = BrokenExerciseError(f"{self.exercise.id}: {own}")
        except BaseException as own:  # noqa: BLE001 - raised by `_run_checks`
            run.failure = own
        return run

    def _load_finding(self, error: SubjectError) -> Finding:
        if isinstance(error, SubjectKilledError):
            raise WorkerKilledError(f"its worker {error} from outside")
        if not isinstance(error, SubjectRaisedError):
            was, location = ("was ", error.location) if isinstance(error, SubjectTimedOutError) else ("", None)
            text = f"it {was}{error} while it was loading; keep the file to imports and definitions"
            return Finding("load", text, location)
        seen = crash_finding(error.raised, "", self.exercise.limits)
        verb = "cannot be compiled" if error.raised.type in SYNTAX_ERRORS else "raises while it is loading"
        next_step = "mend that line" if seen.location else "run the file by itself to see why"
        return Finding(seen.kind, f"it {verb}: {seen.text}; {next_step}", seen.location)

    def _why_unloadable(self, loaded: Loaded, submission: Submission) -> Finding | None:
        interface = self.exercise.interface
        name, what = interface.entry(), "function" if interface.function else "class"
        needs_module = what == "class" and interface.kind.class_is_module
        if loaded.entry_found and (loaded.entry_is_module or not needs_module):
            return None
        if loaded.entry_found:
            return Finding("class", f"{name} is not a subclass of torch.nn.Module; derive it from nn.Module")
        if loaded.tolerated is not None:
            seen = crash_finding(loaded.tolerated, "", self.exercise.limits)
            text = f"a cell raises before there is a {what} {name}: {seen.text}; mend that line"
            return Finding(seen.kind, text, seen.location)
        if what == "function":
            found = ", ".join(_functions(submission)) or "none"
            return Finding(
                "class", f"there is no function {name}; the functions found: {found}; name your function {name}"
            )
        found = ", ".join(loaded.classes) or "none"
        return Finding("class", f"there is no class {name}; the classes found: {found}; name your class {name}")


def _require_own_names(checks: list[RunnableCheck]) -> None:
    """Raise `SpecError` where two checks of an exercise have one name: outcomes are told apart by name."""
    first: dict[str, RunnableCheck] = {}
    problems = []
    for check in checks:
        other = first.setdefault(check.name, check)
        if other is not check:
            problems.append(
                f"{check.place}: expected a name of its own, got {check.name}, as {other.place} has it; rename one"
            )
    if problems:
        raise SpecError(problems)


def _up_to_a_failure(runs: Iterator[_CheckRun]) -> Iterator[_CheckRun]:
    """The runs up to the first that does not pass."""
    for run in runs:
        yield run
        if any(outcome.status is not Status.PASSED for outcome in run.outcomes):
            return


def _functions(submission: Submission) -> list[str]:
    """The first functions that stand at the left margin; a hostile source is searched, for parsing it may crash."""
    names = (found[1] for chunk in submission.chunks for found in FUNCTION.finditer(chunk.text))
    return list(islice(names, MOST_FUNCTIONS))


def _fingerprint(tree: str) -> str:
    return hashlib.sha256(tree.encode("utf-8", "surrogatepass")).hexdigest()[:FINGERPRINT_LENGTH]
