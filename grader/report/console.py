"""The terminal: its size, colours and characters, notes on progress, signals, and the error log."""

import codecs
import contextlib
import io
import os
import shutil
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import click
from rich.console import Console

from grader.errors import SIGNAL_EXIT, KitError
from grader.report.printable import printable
from grader.spec.paths import Course, find_course

MAX_COLUMNS = 120

NOTE_SECONDS = 0.5
"""Seconds after which a waiting student is informed that grading continues."""


def print_report(text: str) -> None:
    """Write text to stdout. Remove its colours unless stdout is a terminal that wants them."""
    click.echo(text, nl=False, color=has_color())


PLAIN_MARKS = {
    "✓": "+",
    "✗": "x",
    "·": ".",
    "●": "*",
    "○": "o",
    "█": "#",
    "▓": "#",
    "▒": "=",
    "░": "-",
    "▲": "^",
    "▼": "v",
    "│": "|",
    "–": "-",  # noqa: RUF001 - this dash is replaced
    "…": ".",
    "±": "+",
}
"""Replacements of marks for a stream that cannot encode them. Each is one character, so that columns stay aligned."""


def accept_all_characters() -> None:
    """Let stdout and stderr write any text: replace characters that they cannot encode by a plain mark or `?`."""
    codecs.register_error("plain_marks", _plain_marks)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="plain_marks")


def _plain_marks(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "only written text is handled"
    return "".join(PLAIN_MARKS.get(each, "?") for each in error.object[error.start : error.end]), error.end


def has_color() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def has_screen() -> bool:
    """Return whether stdout is a terminal that can be cleared."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    return min(shutil.get_terminal_size((100, 24)).columns, MAX_COLUMNS)


def height() -> int:
    return shutil.get_terminal_size((100, 24)).lines


def wrapped(text: str) -> str:
    """Wrap the lines at the terminal's width. If stderr is no terminal, return them unchanged."""
    if not sys.stderr.isatty():
        return text
    lines = (textwrap.wrap(line, width(), break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join("\n".join(line) for line in lines)


@contextlib.contextmanager
def judging_note(name: str) -> Iterator[Callable[[], None]]:
    """Print "Judging NAME ..." on a terminal if the block takes more than half a second.

    Yield a function that removes the note. An alarm prints the note, because a process with threads cannot fork workers
    safely.
    """
    if not sys.stderr.isatty() or not hasattr(signal, "setitimer"):
        yield lambda: None
        return
    shown: list[str] = []

    def show(_number: int, _frame: object) -> None:
        shown.append(name)
        os.write(sys.stderr.fileno(), f"Judging {printable(name)} ...".encode())

    def clear() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if shown:
            shown.clear()
            os.write(sys.stderr.fileno(), b"\r\x1b[K")

    previous_handler = signal.signal(signal.SIGALRM, show)
    signal.setitimer(signal.ITIMER_REAL, NOTE_SECONDS)
    try:
        yield clear
    finally:
        clear()
        signal.signal(signal.SIGALRM, previous_handler)


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar if stderr is a terminal. Yield a function that takes the finished and the total count."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(title)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _exit_as_shells_count(number: int, _frame: object) -> None:
    raise click.exceptions.Exit(SIGNAL_EXIT + number)


@contextlib.contextmanager
def ended_by_signals(handler: Callable[[int, FrameType | None], object] = _exit_as_shells_count) -> Iterator[None]:
    """Unwind the block at SIGTERM and SIGHUP (a closed terminal), so that its clean-up runs.

    `handler` raises the exception that unwinds it. A signal that is ignored, as under nohup, stays ignored. Outside the
    main thread, which alone can handle signals, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handled = [each for each in known if signal.getsignal(each) is not signal.SIG_IGN]
    previous_handlers = [signal.signal(each, handler) for each in handled]
    try:
        yield
    finally:
        for each, previous_handler in zip(handled, previous_handlers, strict=True):
            signal.signal(each, previous_handler)


def keep_traceback() -> str:
    """Write the current exception to the course's error log, or else to stderr. Return where it was written."""
    try:
        course: Course = find_course(Path.cwd())
        log = course.state_folder() / "error.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)  # it could be a pipe, and writing to it would never end
        log.write_text(traceback.format_exc(), encoding="utf-8")
        return str(log)
    except (OSError, KitError):
        traceback.print_exc()
        return "the lines above"
