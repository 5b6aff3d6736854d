"""Run hidden test files with pytest, one test at a time, in the order of the kit's runner."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import _prepareconfig  # pytest offers a session only inside `pytest.main`

from grader.checks import pytest_plugin
from grader.checks.outcome import FailurePoint
from grader.errors import BrokenExerciseError, KitError

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
"""Use no configuration, no conftest and no plugins except the kit's; print and write nothing."""


USERS_OPTIONS = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
"""Environment variables with options for other runs of pytest."""


@contextmanager
def collect_hidden_tests(root: Path, files: list[Path]) -> Iterator[list["HiddenTest"]]:
    """Collect the tests in an exercise's files. They can run inside the block.

    Raises `KitError` if a file cannot be collected.
    """
    current = _CurrentTest()
    try:
        with _without_variables(USERS_OPTIONS):
            config = _prepareconfig([*PYTEST_OPTIONS, f"--rootdir={root}"], [pytest_plugin, current])
    except pytest.UsageError as error:
        raise KitError(f"pytest does not start: {error}") from error
    config.stash[pytest_plugin.EXAMINED] = current
    try:
        config._do_configure()  # noqa: SLF001 - what `pytest.main` does
        session = pytest.Session.from_config(config)
        config.hook.pytest_sessionstart(session=session)
        modules = [pytest.Module.from_parent(session, path=path) for path in files]
        items = [item for module in modules for item in session.genitems(module)]
        _forget(files)
        if current.collection_errors:
            raise KitError(f"hidden tests cannot be collected: {'; '.join(current.collection_errors)}")
        yield [HiddenTest(item, current, root) for item in items]
    finally:
        config._ensure_unconfigure()  # noqa: SLF001 - what `pytest.main` does


@contextmanager
def _without_variables(names: Sequence[str]) -> Iterator[None]:
    """Remove environment variables inside the block."""
    removed = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(removed)


def _forget(files: list[Path]) -> None:
    """Forget the imported files. Otherwise pytest would reuse them in place of a later version, or of another course's
    files at the same path.

    It names a module after its path below the course's folder, and imports no name twice.
    """
    paths = set(map(str, files))
    for name, module in [*sys.modules.items()]:
        if getattr(module, "__dict__", {}).get("__file__") in paths:
            del sys.modules[name]


class HiddenTest:
    """One test function of a hidden test file."""

    is_slow = False

    def __init__(self, item: pytest.Item, current: "_CurrentTest", root: Path) -> None:
        self.name = item.name
        path, line, _ = item.location
        self.place = f"{Path(root, path).relative_to(root)}:{(line or 0) + 1}"
        self.compares_values = "reference" in getattr(item, "fixturenames", ())
        self._item = item
        self._current = current

    def run(self, context: Any, seed: int, point: FailurePoint | None = None) -> None:  # noqa: ARG002 - no size cases
        """Run the test with its fixtures and raise its exception; `pytest.fail` raises an `AssertionError`.

        Raises `BrokenExerciseError` if the test skips or ends pytest.
        """
        self._current.begin(context, seed)
        try:
            self._item.config.hook.pytest_runtest_protocol(item=self._item, nextitem=None)
        except pytest.exit.Exception as error:
            raise BrokenExerciseError(
                f"{self.place}: {self.name} ends pytest: {error.msg}; let the check pass or fail"
            ) from None
        raised = self._current.finish()
        if isinstance(raised, pytest.skip.Exception | pytest.xfail.Exception):
            raise BrokenExerciseError(
                f"{self.place}: {self.name} skips: {raised.msg}; a check has to pass or fail, so remove the skip"
            )
        if isinstance(raised, pytest.fail.Exception):
            raised = AssertionError(str(raised))
        if raised is not None:
            raise raised


class _CurrentTest:
    """The session's plugin: the context of the running test, and the first error that the test raised."""

    def __init__(self) -> None:
        self.collection_errors: list[str] = []
        self._context: Any = None
        self._seed = 0
        self._error: BaseException | None = None

    def begin(self, context: Any, seed: int) -> None:
        self._context, self._seed, self._error = context, seed, None

    def finish(self) -> BaseException | None:
        error, self._context, self._error = self._error, None, None
        return error

    def context(self, _exercise_id: str) -> Any:
        return self._context

    def seed(self, _exercise_id: str) -> int:
        return self._seed

    def close(self) -> None:
        """Do nothing; the plugin calls this."""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.collection_errors.append(str(report.longrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """Store the error of setup, call or teardown. Pytest's own report would format a traceback."""
        if call.excinfo is not None and self._error is None:
            self._error = call.excinfo.value
        outcome: Any = "failed" if call.excinfo else "passed"
        when: Any = call.when
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, None, when, duration=call.duration)
