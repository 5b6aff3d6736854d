"""pytest's session, kept open, its checks collected when an exercise is first asked for; contexts for plain pytest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from grader.checks import plugin
from grader.checks.context import Context
from grader.checks.examiner import Examiner
from grader.checks.plugin import Contexts
from grader.checks.proxies import Subject
from grader.checks.reference import Reference
from grader.checks.reference_cache import ReferenceCache
from grader.checks.session import Session
from grader.errors import KitError, SpecError, UsageError
from grader.processes.worker_source import open_worker_source
from grader.processes.workers import Fingerprinter, WorkerSource
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, find_course
from grader.submission import Submission, read_submission

T = TypeVar("T")

PYTEST_OPTIONS = (
    "-c=/dev/null",
    "--disable-plugin-autoload",
    "--noconftest",
    "--assert=plain",
    "--import-mode=importlib",
    "-s",
    "-pno:terminal",
    "-pno:cacheprovider",
    "-pno:logging",
    "-pno:junitxml",
    "-pno:doctest",
    "-pno:unittest",
    "-pno:faulthandler",
    "-pno:threadexception",
    "-pno:unraisableexception",
    "-pno:warnings",
    "-pno:debugging",
    "-pno:pastebin",
    "-pno:setuponly",
    "-pno:setupplan",
    "-pno:stepwise",
    "-pno:subtests",
    "-pno:legacypath",
)
"""No configuration, no conftest, no plugin but our own; nothing printed, nothing written."""


class Examiners(plugin.Contexts):
    """Examiners by exercise, over one pytest session; a plugin of it."""

    def __init__(self, course: Course, source: WorkerSource, *, strict: bool) -> None:
        self._course = course
        self.source = source
        self._strict = strict
        self._examiners: dict[str, Examiner] = {}
        self.fingerprinter = Fingerprinter(source)
        self._session: pytest.Session | None = None
        self._broken: list[str] = []

    def examiner(self, exercise: Exercise) -> Examiner:
        """The exercise's examiner; `KitError` when its checks cannot be collected."""
        if exercise.id not in self._examiners:
            items = self._collect(exercise.id)
            self._examiners[exercise.id] = Examiner(self._course, exercise, items, self.source, strict=self._strict)
        return self._examiners[exercise.id]

    def context(self, exercise_id: str) -> Context:
        return self._examiners[exercise_id].context()

    def seed_of(self, exercise_id: str) -> int:
        return self._examiners[exercise_id].seed

    def _collect(self, exercise_id: str) -> list[pytest.Item]:
        """The exercise's checks: those its YAML names, then those of its hidden test files."""
        assert self._session is not None, "pytest has not started"
        session, hidden = self._session, sorted(self._course.hidden_tests(exercise_id).glob("test_*.py"))
        files: list[pytest.Collector] = [  # by themselves: from the course's folder on, every other exercise is met
            plugin.ExerciseFile.from_parent(session, path=self._course.description(exercise_id)),
            *(pytest.Module.from_parent(session, path=path) for path in hidden),
        ]
        self._broken.clear()
        items = [item for file in files for item in session.genitems(file)]
        if self._broken:
            raise KitError(f"the checks of {exercise_id} cannot be collected: {'; '.join(self._broken)}")
        self._require_own_names(items)
        return items

    def _require_own_names(self, items: list[pytest.Item]) -> None:
        """Raise `SpecError` where two checks of an exercise have one name, by which outcomes are told apart."""
        first: dict[str, pytest.Item] = {}
        problems = []
        for item in items:
            other = first.setdefault(item.name, item)
            if other is not item:
                here, there = (_place(each, self._course.root) for each in (item, other))
                problems.append(f"{here}: expected a name of its own, got {item.name}, as {there} has it; rename one")
        if problems:
            raise SpecError(problems)

    # The hooks that pytest calls.

    def pytest_collection(self, session: pytest.Session) -> bool:
        """Keep the session; nothing is collected ahead."""
        self._session = session
        return True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._broken.append(str(report.longrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """Keep the outcome; pytest's own report, which formats a traceback, is left out."""
        exercise_id = plugin.exercise_of(item)
        assert exercise_id is not None
        self._examiners[exercise_id].note(item, call)
        result: Any = "failed" if call.excinfo else "passed"
        when: Any = call.when
        return pytest.TestReport(item.nodeid, item.location, {}, result, None, when, duration=call.duration)


def _place(item: pytest.Item, root: Path) -> str:
    """The file, and for a hidden test the line, that a check stands in."""
    path, line, _ = item.location
    return f"{Path(root, path).relative_to(root)}:{line + 1}" if line is not None else path


class _Loop:
    """Runs a body in place of pytest's loop over items, and lets its exceptions out."""

    def __init__(self, examiners: Examiners, body: Callable[[], None]) -> None:
        self.error: BaseException | None = None
        self.has_run = False
        self._examiners = examiners
        self._body = body

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[plugin.CONTEXTS] = self._examiners

    def pytest_runtestloop(self) -> bool:
        self.has_run = True
        try:
            self._body()
        except BaseException as error:  # noqa: BLE001 - raised again outside pytest
            self.error = error
        return True


def with_examiners(course: Course, source: WorkerSource, body: Callable[[Examiners], T], *, strict: bool = False) -> T:
    """What `body` returns, given the examiners.

    `strict` refuses to run submissions that could reach files or the network.
    """
    examiners = Examiners(course, source, strict=strict)
    results: list[T] = []
    loop = _Loop(examiners, lambda: results.append(body(examiners)))
    try:
        status = pytest.main([*PYTEST_OPTIONS, f"--rootdir={course.root}"], plugins=[loop, plugin, examiners])
    finally:
        examiners.fingerprinter.close()
    if loop.error is not None:
        raise loop.error
    if not loop.has_run:
        raise KitError(f"pytest does not start: it ended with {status!r}")
    return results[0]


def with_examiner(
    course: Course, exercise: Exercise, source: WorkerSource, body: Callable[[Examiner], T], *, strict: bool = False
) -> T:
    """What `body` returns, given the examiner of one exercise."""
    return with_examiners(course, source, lambda examiners: body(examiners.examiner(exercise)), strict=strict)


class PlainContexts(Contexts):
    """Examines one file; without one, each exercise's own reference."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self._seed = seed
        self._path = path
        self._source = open_worker_source()
        self._contexts: dict[str, Context] = {}
        self._sessions: dict[str, Session] = {}

    def context(self, exercise_id: str) -> Context:
        if exercise_id not in self._contexts:
            self._contexts[exercise_id] = self._new_context(exercise_id)
        self._sessions[exercise_id].renew()
        return self._contexts[exercise_id]

    def seed_of(self, exercise_id: str) -> int:  # noqa: ARG002 - one seed for all
        return self._seed

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._source.close()

    def _new_context(self, exercise_id: str) -> Context:
        course = find_course(Path.cwd())
        exercise = load_exercise(course.description(exercise_id))
        path = self._path or course.reference(exercise_id)
        submission = read_submission(path, path.name)
        if not isinstance(submission, Submission):
            raise UsageError(submission.reason)
        session = self._sessions[exercise_id] = Session(self._source, exercise, submission)
        reference = ReferenceCache(Reference(course.reference(exercise_id), exercise.interface))
        return Context(Subject(session), reference, exercise)
