"""What the commands share: what the terminal shows, how wide, in colours or not, how it is left, where errors go."""

import contextlib
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from grader.course.paths import Course, find_course
from grader.errors import KitError
from grader.report.page import printable

SIGNAL_EXIT = 128
"""A program ended by a signal exits, as shells count, with this and the signal's number."""

MOST_COLUMNS = 120

NOTE_SECONDS = 0.5
"""After so long somebody who waits is told that the judging goes on."""


def print_report(text: str) -> None:
    """Write text to stdout at once, with its colours where they are wanted."""
    click.echo(text, nl=False, color=has_color())


def has_color() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def has_screen() -> bool:
    """Whether stdout is a terminal that can be cleared."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    return min(shutil.get_terminal_size((100, 24)).columns, MOST_COLUMNS)


def height() -> int:
    return shutil.get_terminal_size((100, 24)).lines


@contextlib.contextmanager
def judging_note(name: str) -> Iterator[Callable[[], None]]:
    """On a terminal, says from half a second on that the file is being judged; call what it gives to take that back.

    An alarm does it, no thread: a process that has threads cannot fork workers safely.
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

    before = signal.signal(signal.SIGALRM, show)
    signal.setitimer(signal.ITIMER_REAL, NOTE_SECONDS)
    try:
        yield clear
    finally:
        clear()
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Draws a bar on a terminal's stderr, and nothing elsewhere; call it with what is done and what there is to do."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(what)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind the command, so that it leaves the terminal and every process as it found them."""

    def end(number: int, _frame: object) -> None:
        raise click.exceptions.Exit(SIGNAL_EXIT + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def keep_traceback() -> str:
    """Write the current exception to a file; where it is."""
    try:
        course: Course = find_course(Path.cwd())
        log = course.state_folder() / "error.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(traceback.format_exc(), encoding="utf-8")
        return str(log.relative_to(course.root))
    except (OSError, KitError):
        traceback.print_exc()
        return "the lines above"
