"""Run the tests in lanes side by side: forks of pytest that take file after file and hand their reports back.

Forks rather than pytest-xdist's interpreters: those are told what to do by a thread, and a process that has threads is
no place to fork the kit's nurseries from. What was collected and imported is there already.
"""

import builtins
import itertools
import os
import signal
import struct
import sys
import traceback
import warnings
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

import pytest

MOST_LANES = 2
NUMBER = struct.Struct("I")
DEBUGGING = ("usepdb", "trace", "setupshow", "setuponly", "setupplan", "collectonly")

File = list[pytest.Item]
Told = tuple[str, dict[str, Any]]
"""A hook of pytest's, and what it is called with."""


def pytest_addoption(parser: pytest.Parser) -> None:
    lanes = min(MOST_LANES, len(os.sched_getaffinity(0))) if sys.platform == "linux" else 1
    parser.addoption("--lanes", type=int, default=lanes, help="run so many files of tests side by side")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in lanes, where they are of more than one file and nobody debugs them."""
    option = session.config.option
    files = [list(items) for _, items in itertools.groupby(session.items, key=lambda item: item.path)]
    is_debugged = option.capture == "no" or any(getattr(option, name, False) for name in DEBUGGING)
    if min(option.lanes, len(files)) < 2 or is_debugged or session.testsfailed:
        return None
    session.config._tmp_path_factory.getbasetemp()  # of this process, which clears it away
    numbers = _queue(len(files))
    lanes = [Lane(session, files, numbers) for _ in range(min(option.lanes, len(files)))]
    os.close(numbers)
    try:
        while open_lanes := {lane.reports: lane for lane in lanes if not lane.is_over}:
            for reports in wait(list(open_lanes)):
                open_lanes[reports].hear()
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
    finally:
        for lane in lanes:
            lane.end()
    return True


def _queue(count: int) -> int:
    """The end of a pipe that holds the numbers of all files; whoever reads one has taken it."""
    reading, writing = os.pipe()
    os.write(writing, b"".join(map(NUMBER.pack, range(count))))
    os.close(writing)
    return reading


class Lane:
    """One fork, as the process that pytest was started as sees it."""

    def __init__(self, session: pytest.Session, files: list[File], numbers: int) -> None:
        self.is_over = False
        self._config = session.config
        self._told: list[Told] = []
        self.reports, reports = Pipe(duplex=False)
        self._process = os.fork()
        if self._process == 0:
            Runner(session, files, numbers, reports).run()
        reports.close()

    def hear(self) -> None:
        """Take what the lane says; what became of a file is told when the file is through."""
        try:
            said: Told | None = self.reports.recv()
        except EOFError:
            last = next((given["nodeid"] for _, given in reversed(self._told) if "nodeid" in given), "its last file")
            self._tell()
            raise pytest.UsageError(f"a lane of tests died at {last}") from None
        if said is None:
            self.is_over = True
        elif said[0] == "file":
            self._tell()
        else:
            self._told.append(said)

    def end(self) -> None:
        if not self.is_over:
            os.kill(self._process, signal.SIGTERM)
        os.waitpid(self._process, 0)

    def _tell(self) -> None:
        for hook, given in self._told:
            if hook == "pytest_runtest_logreport":
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=given)
                self._config.hook.pytest_runtest_logreport(report=report)
            elif hook == "pytest_warning_recorded":
                warning = _warning(**given.pop("warning_message"))
                self._config.hook.pytest_warning_recorded.call_historic(kwargs={"warning_message": warning, **given})
            else:
                getattr(self._config.hook, hook)(**given)
        self._told = []


class Runner:
    """The fork itself: it runs the tests of a file, takes another, and says what pytest would have said."""

    def __init__(self, session: pytest.Session, files: list[File], numbers: int, reports: Connection) -> None:
        self._session = session
        self._files = files
        self._numbers = numbers
        self._reports = reports

    def run(self) -> NoReturn:
        try:
            self._have_own_output()
            file = self._take()
            while file and not (self._session.shouldfail or self._session.shouldstop):
                following = self._take()
                self._run_file(file, following)
                self._reports.send(("file", {}))
                file = following
            self._reports.send(None)
        except KeyboardInterrupt:
            pass
        except BaseException:  # noqa: BLE001 - whatever it is, it is told
            self._session.config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
            traceback.print_exc()
        finally:
            os._exit(0)

    def _run_file(self, file: File, following: File) -> None:
        for item, after in zip(file, [*file[1:], *following[:1], None], strict=False):
            self._session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._session.shouldfail or self._session.shouldstop:
                return

    def _take(self) -> File:
        """The next file's tests; none where all are taken."""
        number = os.read(self._numbers, NUMBER.size)
        return self._files[NUMBER.unpack(number)[0]] if number else []

    def _have_own_output(self) -> None:
        """Capture into files of its own, and leave the terminal to the process that was started."""
        plugins = self._session.config.pluginmanager
        capture = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        quiet = pytest.TerminalReporter(self._session.config, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        plugins.unregister(name="terminalreporter")
        plugins.register(quiet, "terminalreporter")
        quiet.pytest_sessionstart(self._session)
        plugins.register(self)

    # The hooks whose calls are repeated in the process that was started.

    def pytest_runtest_logstart(self, nodeid: str, location: tuple) -> None:
        self._reports.send(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple) -> None:
        self._reports.send(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self._session.config
        data = config.hook.pytest_report_to_serializable(config=config, report=report)
        self._reports.send(("pytest_runtest_logreport", data))

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when, nodeid, location) -> None:
        told = {
            "message": str(warning_message.message),
            "category": warning_message.category.__name__,
            "filename": warning_message.filename,
            "lineno": warning_message.lineno,
        }
        given = {"warning_message": told, "when": when, "nodeid": nodeid, "location": location}
        self._reports.send(("pytest_warning_recorded", given))


def _warning(message: str, category: str, filename: str, lineno: int) -> warnings.WarningMessage:
    return warnings.WarningMessage(message, getattr(builtins, category, UserWarning), filename, lineno)
