"""Examine submissions: an exercise's checks, collected once, are run over one after another."""

import hashlib
import re
import time
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec import structs

from grader.checks.calling_variants import is_of_training
from grader.checks.compare import Advice, Failure
from grader.checks.context import Context
from grader.checks.findings import crash_finding, outcome_of_error
from grader.checks.outcome import STATE_CHANGED, Examination, Finding, Outcome, Status, Tried, last_lines
from grader.checks.plugin import PropertyItem, compares_values, is_slow
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
from grader.errors import BrokenExerciseError, WorkerKilledError
from grader.processes.workers import WorkerSource, protections
from grader.sandbox.protocol import Isolation, Loaded
from grader.sandbox.values import TORCH_DTYPES
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.submission import Submission

FINGERPRINT_LENGTH = 12
SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")
FUNCTION = re.compile(r"^(?:async )?def (\w{1,80})", re.MULTILINE)
MOST_FUNCTIONS = 10
"""As many functions are named where the one that is graded is missing."""


@dataclass
class _CheckRun:
    """What one run of a check came to; it counts where the check is not run once more."""

    check: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    saw: Any = None
    is_whole: bool = False
    is_starved: bool = False
    failure: BaseException | None = None

    def has_passed(self) -> bool:
        return bool(self.outcomes) and self.outcomes[-1].status is Status.PASSED


class Examiner:
    """Holds an exercise's checks and reference, and examines one submission after another."""

    def __init__(
        self, course: Course, exercise: Exercise, items: list[pytest.Item], source: WorkerSource, *, strict: bool
    ) -> None:
        self.exercise = exercise
        self.seed = 0
        self._name = Path(course.module_name(exercise.id)).stem
        self._strict = strict
        self._source = source
        self.recording = Recording(course.answers(exercise.id)) if exercise.recorded else None
        has_reference = not exercise.is_edition()
        self.reference = ReferenceCache(
            Reference(course.reference(exercise.id), exercise.interface) if has_reference else AbsentReference(),
            self.recording,
        )
        self._items = items
        self._comparing = frozenset(item.name for item in items if compares_values(item))
        self._session: Session | None = None
        self._run = _CheckRun()

    def context(self) -> Context:
        """Subject and reference of the submission under examination."""
        assert self._session is not None
        session = self._session
        subject = Subject(session)
        return Context(
            subject,
            self.reference,
            self.exercise,
            session.printed,
            lambda: session.observed.answers_in_calling_variants,
            lambda: session.log.returned,
        )

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
                found = self._run_checks([item for item in self._items if not only or item.name in only], dtype)
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

    def note(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Keep what a check's run came to."""
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, Exception) and self._session is not None:
            vars(error).setdefault("tried", Tried(printed=last_lines(self._session.printed())))
        run = self._run
        run.is_starved = run.is_starved or (isinstance(error, SubjectTimedOutError) and error.is_starved)
        run.saw = error.saw if isinstance(error, Failure | MisfitError) else run.saw
        if isinstance(error, NotRecordedError):
            return  # it waits until the exercise is handed in
        if call.when == "call" or error is not None:
            try:
                is_form_right = self._session is not None and self._session.log.is_form_right
                run.outcomes.append(
                    outcome_of_error(item.name, error, call.duration, self.exercise.limits, is_form_right=is_form_right)
                )
            except BrokenExerciseError as own:
                run.failure = BrokenExerciseError(f"{self.exercise.id}: {own}")
            except BaseException as own:  # noqa: BLE001 - raised again once pytest's protocol is over
                run.failure = own

    def _run_checks(self, items: list[pytest.Item], dtype: str) -> Iterator["_CheckRun"]:
        """What each check comes to, one after another; a run that does not count leaves nothing behind."""
        assert self._session is not None
        is_change_told = False  # one cause is told once
        for item in items:
            if why_over := self._session.why_over():
                yield _CheckRun(item.name, [Outcome(item.name, Status.NOT_RUN, Finding("no-time", why_over))])
                continue
            before = self._session.observed
            run = self._run_check(item, dtype)
            is_repeated = self.reference.is_to_be_repeated()
            if is_repeated or run.is_starved:
                self._session.observed = before
                run = self._run_check(item, dtype, is_retry=not is_repeated)
            if run.failure is not None:
                raise run.failure
            if (changed := self._session.observed.changed) and not is_change_told and run.has_passed():
                is_change_told = True
                run.outcomes[-1] = structs.replace(
                    run.outcomes[-1], status=Status.FAILED, finding=Finding(STATE_CHANGED, changed), advice=""
                )
            yield run

    def _run_check(self, item: pytest.Item, dtype: str, *, is_retry: bool = False) -> "_CheckRun":
        assert self._session is not None
        self._run = run = _CheckRun(item.name)
        self._session.begin_check()
        if is_retry or is_slow(item):
            self._session.allow_all()
        self._session.printed()  # what earlier checks brought to stdout
        self.reference.begin(item.name, self.seed, dtype)
        with warnings.catch_warnings(record=True) as advice:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", Advice)
            try:
                if isinstance(item, PropertyItem):  # which needs no fixture, and so nothing of pytest's protocol
                    self.note(item, pytest.CallInfo.from_call(item.runtest, "call", pytest.exit.Exception))
                else:
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            except pytest.exit.Exception as error:
                fault = f"{self.exercise.id}: {item.name} ends pytest: {error.msg}; a check has to pass or fail"
                raise BrokenExerciseError(fault) from None
        run.is_whole = self._session.log.calls_of_the_module > 0 and self.reference.was_called()
        if advice and run.has_passed():
            run.outcomes[-1] = structs.replace(run.outcomes[-1], advice=str(advice[0].message))
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
