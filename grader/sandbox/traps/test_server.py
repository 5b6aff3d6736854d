"""The test worker of a trap: collect the student's tests with pytest, run them, and report each run.

Nothing here is trusted. A report that a hostile test forges is a function of the replies that its process got, like
every other report, and the examiner judges it as such.
"""

import contextlib
import importlib.abc
import importlib.util
import linecache
import os
import random
import socket
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from _pytest.config import default_plugins

from grader.sandbox.global_state import GlobalState
from grader.sandbox.protocol import MAX_TEXT, RunTests, TestRun
from grader.sandbox.text import OUT_OF_MEMORY, cut, sendable
from grader.sandbox.traps.comparisons import Comparisons
from grader.sandbox.traps.messages import (
    MAX_TESTS,
    Answer,
    Ask,
    Cause,
    Collected,
    Done,
    Finished,
    receive_answer,
    receive_run,
    send,
)
from grader.sandbox.traps.proxies import Remote, SubjectClass

for _name in default_plugins:  # in the nursery, so that no worker imports them again
    import_module(f"_pytest.{_name}")

LEFT_OUT = (
    *("cacheprovider", "terminal", "logging", "junitxml", "pastebin", "doctest", "faulthandler", "legacypath"),
    *("setuponly", "setupplan", "stepwise", "debugging", "unittest", "warnings", "threadexception"),
    *("unraisableexception", "reports", "nose"),
)
"""Plugins of pytest that write files, or that a trap does not need."""

OPTIONS = (
    *("--capture=sys", "--assert=plain", "-c", os.devnull),
    *(part for name in LEFT_OUT for part in ("-p", f"no:{name}")),
)

WHERE = "/home/user"
MAX_LINES = 500


def run_tests(connection: socket.socket, request: RunTests) -> None:
    """Run the tests and send their reports."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    remote = Remote(_Transport(connection), request.name, is_class=request.is_class)
    plugin = _Plugin(connection, request, remote)
    status: object = "it failed"
    with _hidden_output(), contextlib.suppress(PermissionError):  # at its end pytest changes the folder
        status = pytest.main([*OPTIONS, f"--rootdir={WHERE}", WHERE], plugins=[plugin])
    if not plugin.is_collected:
        problem = plugin.problem or f"pytest could not start ({status})"
        send(connection, Collected(names=[], problem=problem, line=plugin.problem_line))
    send(connection, Done())


class _Transport:
    """Sends payloads to the examiner."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def __call__(self, payload: bytes) -> bytes:
        send(self._connection, Ask(payload=payload))
        answer: Answer = receive_answer(self._connection)
        return answer.payload


@contextlib.contextmanager
def _hidden_output() -> Iterator[None]:
    """Give pytest streams that nobody reads."""
    with open(os.devnull, encoding="utf-8") as nothing:
        before = sys.stdin
        sys.stdin = nothing
        try:
            yield
        finally:
            sys.stdin = before


class _SourceLoader(importlib.abc.InspectLoader):
    """Imports the text of a trap as a module."""

    def __init__(self, label: str, text: str) -> None:
        self._label, self._text = label, text

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - the loader serves one module
        return self._text

    def get_code(self, fullname: str) -> types.CodeType:  # noqa: ARG002 - as above
        return self.source_to_code(self._text.encode("utf-8", "surrogatepass"), self._label)


class _TrapModule(pytest.Module):
    """The student's file, which exists as text alone."""

    loader: _SourceLoader

    def _getobj(self) -> Any:
        spec = importlib.util.spec_from_loader("trap", self.loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["trap"] = module
        self.loader.exec_module(module)
        return module


class _Plugin:
    """Pytest's plugin of a test worker: the fixtures, the order of runs, the reports."""

    def __init__(self, connection: socket.socket, request: RunTests, remote: Remote) -> None:
        self.is_collected = False
        self.problem, self.problem_line = "", 0
        self._connection, self._request, self._remote = connection, request, remote
        self._comparisons = Comparisons(request.source)
        self._seed = 0
        self._failure: pytest.CallInfo[Any] | None = None

    # fixtures

    @pytest.fixture
    def subject(self) -> SubjectClass:
        """The exercise's class or function."""
        return SubjectClass(self._remote)

    @pytest.fixture
    def gaussian(self) -> Any:
        """Makes tensors of Gaussian random numbers."""
        own = [_state_of(self._seed)]

        def gaussian(*shape: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
            sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
            before = torch.default_generator.get_state()  # a generator of its own would import all of torch
            torch.default_generator.set_state(own[0])
            numbers = torch.randn(*sizes, dtype=dtype)
            own[0] = torch.default_generator.get_state()
            torch.default_generator.set_state(before)
            return numbers

        return gaussian

    # collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> object:
        source = self._request.source
        lines = source.text.split("\n")
        linecache.cache[source.label] = (len(source.text), None, [line + "\n" for line in lines], source.label)
        module = _TrapModule.from_parent(session, path=Path(WHERE, "trap.py"))
        module.loader = _SourceLoader(source.label, source.text)
        session.items = []
        try:
            with self._comparisons.watching():  # a trap may import `assert_close` by its name
                module.obj  # noqa: B018 - importing it shows its errors
            session.items = list(session.genitems(module))
        except BaseException as error:  # noqa: BLE001 - a trap may raise SystemExit too
            self.problem, self.problem_line = _described(error), self._line_of(error)
        session.testscollected = len(session.items)
        if self.problem:
            return True
        names = [sendable(item.name)[:200] for item in session.items]
        self.is_collected = True
        send(self._connection, Collected(names=names))
        return True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.problem:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.problem = cut(sendable(crash.message if crash else str(report.longrepr)), MAX_TEXT)
            self.problem_line = crash.lineno if crash and crash.path == self._request.source.label else 0

    # running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> object:
        items = session.items[:MAX_TESTS]
        while items:  # the examiner ends the process after the last run
            run = receive_run(self._connection)
            self._run(items[run.test], run)
        return True

    def _run(self, item: pytest.Item, run: TestRun) -> None:
        if hasattr(item, "_initrequest"):
            item._initrequest()  # noqa: SLF001 - a test that has run needs its fixtures anew
        self._seed, self._failure = run.seed, None
        self._remote.begin()
        self._comparisons.clear()
        state = GlobalState()
        torch.default_generator.manual_seed(run.seed)
        random.seed(run.seed)
        if numpy := sys.modules.get("numpy"):
            numpy.random.seed(run.seed)
        with self._comparisons.watching():
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)  # which tears all fixtures down
        state.note_seed()  # a test may set the seed
        state.check()
        send(self._connection, self._report(state.changed_name))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
        report = yield
        if report.failed and self._failure is None:
            self._failure = call
        del item
        return report

    def _report(self, changed: str) -> Finished:
        if self._failure is None or self._failure.excinfo is None:
            return Finished(passed=True, changed=changed)
        error = self._failure.excinfo.value
        line = self._line_of(error)
        last = self._comparisons.failed_at(line)
        return Finished(
            passed=False,
            reason=_described(error),
            cause=cause_of(error),
            line=line,
            by_crash=any(each is error for each in self._remote.raised),
            difference=last.difference if last else None,
            tolerance=last.tolerance if last else 0.0,
            changed=changed,
        )

    def _line_of(self, error: BaseException) -> int:
        """Return the last line of the trap in a traceback; 0 if there is none."""
        label = self._request.source.label
        if isinstance(error, SyntaxError) and error.filename == label:
            return error.lineno or 0
        found, trace = 0, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == label:
                found = trace.tb_lineno
            trace = trace.tb_next
        return found


def _state_of(seed: int) -> torch.Tensor:
    """Return the state of a generator with this seed."""
    before = torch.default_generator.get_state()
    torch.default_generator.manual_seed(seed)
    state = torch.default_generator.get_state()
    torch.default_generator.set_state(before)
    return state


def _described(error: BaseException) -> str:
    try:
        text = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:  # noqa: BLE001 - __str__ may be the student's
        text = ""
    name = type(error).__name__
    return cut(sendable(f"{name}: {text}" if text else name), MAX_TEXT)


def cause_of(error: BaseException) -> Cause:
    """Return why a test failed with this exception."""
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return Cause.ASSERTION
    if OUT_OF_MEMORY.search(_described(error)):
        return Cause.MEMORY
    return Cause.CLOSED if isinstance(error, OSError) else Cause.OTHER
