"""The terminal: lines of styled text -> one string, how wide and in which colours, and where errors go."""

import contextlib
import io
import os
import shutil
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.errors import KitError
from grader.sandbox.text import cut
from grader.spec.paths import Course, find_course

LOOKED_AT = 8
"""Times the limit: as far into a long text as it is read at all, however much of that is space."""


def printable(text: str, limit: int = 400) -> str:
    """Return one line of visible characters, with the number of characters that were cut."""
    words = " ".join(text[: LOOKED_AT * limit].split())
    return _visible(cut(words, limit, max(len(text) - LOOKED_AT * limit, 0)))


def printable_line(text: str, limit: int = 120) -> str:
    """Like `printable`, with indentation and spacing kept."""
    line = text[: 2 * limit].expandtabs(4)
    return _visible(cut(line, limit, max(len(text) - 2 * limit, 0)))


def printable_lines(text: str) -> str:
    """Lines of any number and length, with tabs and spacing kept."""
    return "\n".join("\t".join(map(_visible, line.split("\t"))) for line in text.split("\n"))


def wrapped(text: str) -> str:
    """The same lines, where somebody reads them, none longer than the terminal; a program gets them as they are."""
    if not sys.stderr.isatty():
        return text
    lines = (textwrap.wrap(line, width(), break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join("\n".join(line) for line in lines)


def _visible(text: str) -> str:
    """The text with control and bidi characters, odd spaces and halves of characters spelled out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _spelled_out(each) for each in text)


def _spelled_out(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


Line = Text | Padding | Table

INDENT = 8
"""Columns that what belongs to a finding is set in by."""


def render_page(lines: Iterable[Line], width: int, *, color: bool) -> str:
    """The lines one below the other, wrapped at `width` columns."""
    output = io.StringIO()
    console = Console(
        file=output,
        width=width,
        force_terminal=color,
        no_color=not color,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        force_jupyter=False,
    )
    for line in lines:
        console.print(line)
    return "".join(line.rstrip() + "\n" for line in output.getvalue().splitlines())


def indented(text: Text) -> Padding:
    """A line set in, all its wrapped lines included."""
    return Padding(text, (0, 0, 0, INDENT), expand=False)


def marked(mark: tuple[str, str], text: Text) -> Table:
    """A line with a mark in the margin; its wrapped lines are set in."""
    return beside(Text(*mark), text, INDENT)


def beside(left: Text, right: Text, left_width: int) -> Table:
    """Return two columns, the second one wrapped to its width."""
    table = Table.grid()
    table.add_column(width=left_width)
    table.add_column()
    table.add_row(left, right)
    return table


SIGNAL_EXIT = 128
"""A program ended by a signal exits, as shells count, with this and the signal's number."""

MOST_COLUMNS = 120

NOTE_SECONDS = 0.5
"""Seconds after which a waiting student is informed that grading continues."""


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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(what)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _exit_as_shells_count(number: int, _frame: object) -> None:
    raise click.exceptions.Exit(SIGNAL_EXIT + number)


@contextlib.contextmanager
def ended_by_signals(handler: Callable[[int, FrameType | None], object] = _exit_as_shells_count) -> Iterator[None]:
    """SIGTERM and a terminal that closes unwind the command, so that it leaves the terminal and all processes in order.

    What nohup has ignored stays ignored. A `handler` raises what unwinds it; only a main thread can be ended so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = [each for each in known if signal.getsignal(each) is not signal.SIG_IGN]
    before = [signal.signal(each, handler) for each in heard]
    try:
        yield
    finally:
        for each, earlier in zip(heard, before, strict=True):
            signal.signal(each, earlier)


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
