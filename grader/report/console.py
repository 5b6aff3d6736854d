"""What the commands share: what the terminal shows, how wide, in colours or not, how it is left, where errors go."""

import contextlib
import os
import pickle
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from grader.course.paths import Course, find_course
from grader.errors import KitError

if TYPE_CHECKING:
    from grader.verdict.verdict import Verdict

Show = Callable[["Verdict"], None]

SIGNAL_EXIT = 128
"""A program ended by a signal exits, as shells count, with this and the signal's number."""

MOST_COLUMNS = 120


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


@contextlib.contextmanager
def getting_ready(prepare: Callable[[], Show]) -> Iterator[Show]:
    """Gives a function that shows one verdict the way `prepare` returns, which is done by the time that it is called.

    A process forked from this one gets ready and shows, while this one judges and then clears away. Where it fails, the
    verdict is shown here. Nothing that may not be forked, torch above all, may have been imported.
    """
    from grader.verdict.judge import CAN_FORK

    if not CAN_FORK:
        yield prepare()
        return
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        os.close(writing)
        _show_what_comes(prepare, reading)
    os.close(reading)
    shown: list[Verdict] = []
    try:
        with open(writing, "wb") as pipe:

            def show(verdict: "Verdict") -> None:
                shown.append(verdict)
                with contextlib.suppress(BrokenPipeError), pipe:
                    pickle.dump(verdict, pipe)  # a file's name may be no text, and msgpack takes nothing else

            yield show
    finally:
        _, status = os.waitpid(process, 0)
    if shown and status != 0:
        prepare()(shown[0])


def _show_what_comes(prepare: Callable[[], Show], reading: int) -> NoReturn:
    """In the forked process: what happens to it is told by its exit code alone."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that judges, and ends this one's pipe
        import grader.verdict.verdict  # noqa: F401 - so that it is there by the time a verdict comes
        from grader.examiner.workers import hide_memory

        hide_memory()
        show = prepare()
        with open(reading, "rb") as pipe:
            message = pipe.read()
        if message:
            show(pickle.loads(message))  # noqa: S301 - from the process that this one was forked from
            sys.stdout.flush()
        status = 0
    finally:
        os._exit(status)


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
