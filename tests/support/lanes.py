"""Run the tests in lanes side by side: forks of pytest that take unit after unit and send their reports back.

A unit is a file whose tests share a fixture, or else a single test. The files come first, so that no lane starts a long
unit when the others have finished.

pytest-xdist does not work here: even with `execmodel=main_thread_only` each of its workers has a second thread, which
receives messages, and the kit forks its nurseries only from a process with one thread.
"""

import builtins
import faulthandler
import itertools
import os
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

import pytest

from tests.support.selection import ADDED, is_of_a_file

MAX_LANES = 4
"""Two more lanes than cores: a lane waits for a quarter of its time, mostly for a deadline."""

LONGEST_SECONDS = 900.0
"""The longest test, of the lowest versions, installs torch and takes a few minutes."""

NUMBER = struct.Struct("I")
DEBUGGING = ("usepdb", "trace", "setupshow", "setuponly", "setupplan", "collectonly")

Unit = list[pytest.Item]
Call = tuple[str, dict[str, Any]]
"""A hook of pytest and its arguments."""


def pytest_addoption(parser: pytest.Parser) -> None:
    lanes = min(MAX_LANES, len(os.sched_getaffinity(0)) + 2) if sys.platform == "linux" else 1
    parser.addoption("--lanes", type=int, default=lanes, help="run the tests in so many processes side by side")
    parser.addoption("--longest", type=float, default=LONGEST_SECONDS, help="in lanes: seconds until a test hangs")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in lanes, unless there is a single unit or a debugger is on."""
    option = session.config.option
    units = _units(session.items)
    is_debugged = option.capture == "no" or any(getattr(option, name, False) for name in DEBUGGING)
    if min(option.lanes, len(units)) < 2 or is_debugged or session.testsfailed:
        return None
    session.config._tmp_path_factory.getbasetemp()  # created here, so that this process removes it
    numbers = _queue(len(units))
    lanes = [Lane(session, units, numbers) for _ in range(min(option.lanes, len(units)))]
    os.close(numbers)
    try:
        while open_lanes := {lane.reports: lane for lane in lanes if not lane.is_over}:
            for reports in wait(list(open_lanes), timeout=1.0):
                open_lanes[reports].receive()
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
            for lane in open_lanes.values():
                lane.end_if_it_hangs(option.longest)
    finally:
        for lane in lanes:
            lane.end()
    return True


def _units(items: list[pytest.Item]) -> list[Unit]:
    """Return the units in the order in which they start: whole files, single tests, tests that `--touched` added."""
    share = [unit for unit in _in_order(items) if ADDED not in unit[0].stash]
    added = [unit for unit in _in_order(items) if ADDED in unit[0].stash]
    return sorted(share, key=lambda unit: not any(map(is_of_a_file, unit))) + added


def _in_order(items: list[pytest.Item]) -> Iterator[Unit]:
    for _, tests in itertools.groupby(items, key=lambda item: (item.path, ADDED in item.stash)):
        file = list(tests)
        if any(map(is_of_a_file, file)):
            yield file
        else:
            yield from ([test] for test in file)


def _queue(count: int) -> int:
    """Return the end of a pipe that holds the numbers of all units; a lane that reads a number takes the unit."""
    reading, writing = os.pipe()
    os.write(writing, b"".join(map(NUMBER.pack, range(count))))
    os.close(writing)
    return reading


class Lane:
    """The process that runs pytest's handle on one fork."""

    def __init__(self, session: pytest.Session, units: list[Unit], numbers: int) -> None:
        self.is_over = False
        self._config = session.config
        self._calls: list[Call] = []
        self._heard = time.monotonic()
        self.reports, reports = Pipe(duplex=False)
        self._process = os.fork()
        if self._process == 0:
            Runner(session, units, numbers, reports).run()
        reports.close()

    def receive(self) -> None:
        """Receive one message; the calls of a unit are repeated once the unit is complete."""
        try:
            message: Call | None = self.reports.recv()
        except EOFError:
            self._fail("a lane of tests died at {test}")
        self._heard = time.monotonic()
        if message is None:
            self.is_over = True
        elif message[0] == "unit":
            self._repeat_calls()
        else:
            self._calls.append(message)

    def end_if_it_hangs(self, seconds: float) -> None:
        """End a lane that has sent nothing for so long, after it has written its stack to stderr."""
        if self.is_over or time.monotonic() - self._heard < seconds:
            return
        os.kill(self._process, signal.SIGUSR2)
        time.sleep(1.0)
        os.kill(self._process, signal.SIGKILL)
        self._fail("a lane of tests hangs at {test}")

    def end(self) -> None:
        if not self.is_over:
            os.kill(self._process, signal.SIGTERM)
        os.waitpid(self._process, 0)

    def _fail(self, message: str) -> NoReturn:
        last = next((given["nodeid"] for _, given in reversed(self._calls) if "nodeid" in given), "its last test")
        self._repeat_calls()
        raise pytest.UsageError(message.format(test=last))

    def _repeat_calls(self) -> None:
        for hook, given in self._calls:
            if hook == "pytest_runtest_logreport":
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=given)
                self._config.hook.pytest_runtest_logreport(report=report)
            elif hook == "pytest_warning_recorded":
                warning = _warning(**given.pop("warning_message"))
                self._config.hook.pytest_warning_recorded.call_historic(kwargs={"warning_message": warning, **given})
            else:
                getattr(self._config.hook, hook)(**given)
        self._calls = []


class Runner:
    """The loop in a fork: take a unit, run its tests, and send each call of a reporting hook."""

    def __init__(self, session: pytest.Session, units: list[Unit], numbers: int, reports: Connection) -> None:
        self._session = session
        self._units = units
        self._numbers = numbers
        self._reports = reports

    def run(self) -> NoReturn:
        try:
            self._have_own_output()
            unit = self._take()
            while unit and not (self._session.shouldfail or self._session.shouldstop):
                following = self._take()
                self._run_unit(unit, following)
                self._reports.send(("unit", {}))
                unit = following
            self._reports.send(None)
        except KeyboardInterrupt:
            pass
        except BaseException:  # noqa: BLE001 - print any error and exit
            self._session.config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
            traceback.print_exc()
        finally:
            os._exit(0)

    def _run_unit(self, unit: Unit, following: Unit) -> None:
        for item, after in zip(unit, [*unit[1:], *following[:1], None], strict=False):
            self._session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._session.shouldfail or self._session.shouldstop:
                return

    def _take(self) -> Unit:
        """Return the next unit; empty if all are taken."""
        number = os.read(self._numbers, NUMBER.size)
        return self._units[NUMBER.unpack(number)[0]] if number else []

    def _have_own_output(self) -> None:
        """Capture into separate files, and leave the terminal to the main process."""
        plugins = self._session.config.pluginmanager
        capture = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()
        faulthandler.register(signal.SIGUSR2, file=os.dup(2))
        capture.start_global_capturing()
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - stays open until the lane ends
        quiet = pytest.TerminalReporter(self._session.config, nowhere)
        plugins.unregister(name="terminalreporter")
        plugins.register(quiet, "terminalreporter")
        quiet.pytest_sessionstart(self._session)
        plugins.register(self)

    # The hooks whose calls are repeated in the process in which pytest was started.

    def pytest_runtest_logstart(self, nodeid: str, location: tuple) -> None:
        self._reports.send(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple) -> None:
        self._reports.send(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self._session.config
        data = config.hook.pytest_report_to_serializable(config=config, report=report)
        self._reports.send(("pytest_runtest_logreport", data))

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when, nodeid, location) -> None:
        fields = {
            "message": str(warning_message.message),
            "category": warning_message.category.__name__,
            "filename": warning_message.filename,
            "lineno": warning_message.lineno,
        }
        given = {"warning_message": fields, "when": when, "nodeid": nodeid, "location": location}
        self._reports.send(("pytest_warning_recorded", given))


def _warning(message: str, category: str, filename: str, lineno: int) -> warnings.WarningMessage:
    return warnings.WarningMessage(message, getattr(builtins, category, UserWarning), filename, lineno)
