"""The terminal: its size and colours, text made safe to print, rendered pages, progress, signals, the error log."""

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click
from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.errors import SIGNAL_EXIT, KitError
from grader.sandbox.text import cut, cut_middle
from grader.spec.paths import Course, find_course

SCAN_FACTOR = 8
"""A long text is read up to this many times the limit, because spaces may be removed from it."""


def printable(text: str, limit: int = 400) -> str:
    """Return the text as one line of visible characters; a line that was cut ends with the number of omitted ones."""
    words = " ".join(text[: SCAN_FACTOR * limit].split())
    return _visible(cut(words, limit, max(len(text) - SCAN_FACTOR * limit, 0)))


def printable_ends(text: str, limit: int) -> str:
    """Return the text as one line of visible characters; a long text is cut in the middle."""
    return _visible(cut_middle(" ".join(text.split()), limit))


def printable_line(text: str, limit: int = 120) -> str:
    """Return a line like `printable` does, but keep its indentation and spacing."""
    line = text[: 2 * limit].expandtabs(4)
    return _visible(cut(line, limit, max(len(text) - 2 * limit, 0)))


def printable_lines(text: str) -> str:
    """Return the lines with visible characters only; keep tabs and spacing, and cut nothing."""
    return "\n".join("\t".join(map(_visible, line.split("\t"))) for line in text.split("\n"))


def wrapped(text: str) -> str:
    """Wrap the lines at the terminal's width. If stderr is no terminal, return them unchanged."""
    if not sys.stderr.isatty():
        return text
    lines = (textwrap.wrap(line, width(), break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join("\n".join(line) for line in lines)


def _visible(text: str) -> str:
    """Escape control and bidi characters, unusual spaces and lone surrogates."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


Line = Text | Padding | Table

INDENT = 8
"""Columns by which a finding's text is indented."""


def render_page(lines: Iterable[Line], width: int, *, color: bool) -> str:
    """Render the lines below each other, wrapped at `width` columns."""
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
        is_verbatim = isinstance(line, Text) and line.overflow == "ignore"
        console.print(line, **(VERBATIM if is_verbatim else {}))
    return "".join(line.rstrip() + "\n" for line in output.getvalue().splitlines())


def indented(text: Text) -> Padding:
    """Indent a line, and the lines that it wraps into."""
    return Padding(text, (0, 0, 0, INDENT), expand=False)


VERBATIM: dict[str, Any] = {"no_wrap": True, "overflow": "ignore", "crop": False}


def verbatim(text: str, style: str = "", *, indent: int = 0) -> Text:
    """Return a line of code that is never wrapped or cut, so that it can be copied."""
    return Text(" " * indent + text, style, overflow="ignore")


class Column(Struct, frozen=True, kw_only=True):
    """A column of a table: its heading, and a cell for each row."""

    heading: str
    cells: list[Text]
    is_number: bool = False

    def is_empty(self) -> bool:
        """Return whether no cell says more than that all is well, or that there is nothing."""
        return all(cell.plain in ("", "0", "✓", "✓ 0") for cell in self.cells)


COLUMN_GAP = 2


def fitted_table(columns: Sequence[Column], width: int) -> list[Line]:
    """Return a table that fits into the width. The first column names the rows.

    If the table is too wide, each word of a heading gets its own line. If it still is, the columns without content are
    left out, and a line below names them. If it still is, the table is split into several.
    """
    if _width_of(columns, breaks=False) <= width:
        return [_table_of(columns, breaks=False)]
    if _width_of(columns, breaks=True) <= width:
        return [_table_of(columns, breaks=True)]
    names, *others = columns
    kept = [each for each in others if not each.is_empty()]
    groups: list[list[Column]] = [[names]]
    for column in kept:
        if len(groups[-1]) > 1 and _width_of([*groups[-1], column], breaks=True) > width:
            groups.append([names])
        groups[-1].append(column)
    omitted = [each.heading for each in others if each.is_empty()]
    lines: list[Line] = []
    for group in groups:
        lines += [*([Text()] if lines else []), _table_of(group, breaks=True)]
    lines += [Text(), Text(f"Nothing to show in: {', '.join(omitted)}", "dim")] if omitted else []
    return lines


def _heading(column: Column, *, breaks: bool) -> str:
    return column.heading.replace(" ", "\n") if breaks else column.heading


def _width_of(columns: Sequence[Column], *, breaks: bool) -> int:
    texts = ([*_heading(each, breaks=breaks).split("\n"), *(cell.plain for cell in each.cells)] for each in columns)
    return sum(max(map(cell_len, each)) for each in texts) + COLUMN_GAP * (len(columns) - 1)


def _table_of(columns: Sequence[Column], *, breaks: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0))
    for column in columns:
        justify: JustifyMethod = "right" if column.is_number else "left"
        table.add_column(_heading(column, breaks=breaks), justify=justify, no_wrap=True, vertical="bottom")
    for row in zip(*(each.cells for each in columns), strict=True):
        table.add_row(*row)
    return table


def marked(mark: tuple[str, str], text: Text) -> Table:
    """Return an indented line with a mark (text and style) in the margin."""
    return beside(Text(*mark), text, INDENT)


def beside(left: Text, right: Text, left_width: int) -> Table:
    """Return two columns, the second one wrapped to its width."""
    table = Table.grid()
    table.add_column(width=left_width)
    table.add_column()
    table.add_row(left, right)
    return table


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
