"""Show a batch on a terminal or in a log: its progress, its report, and the message after an interrupt."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from sqlite3 import Row
from typing import Self

from rich import progress as bars
from rich.console import Console
from rich.text import Text

from grader.classroom.grading import BatchReport
from grader.classroom.run import Progress
from grader.report.page import Column, Line, fitted_table, render_page
from grader.report.printable import printable

MINUTE, MINUTES_IN_HOUR = 60, 60
COLUMNS = ("exercise", "submissions", "fixed", "not fixed", "not gradable", "not judged", "shared", "mean score")
TRAP_COLUMNS = ("exercise", "traps", "catch every defect", "mean score")


class Clock:
    """The time and the speed of a batch since this object was made."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def seconds(self) -> float:
        """Return the elapsed seconds."""
        return time.monotonic() - self._started

    def rate(self, progress: Progress) -> float:
        """Return the new verdicts per second."""
        return (progress.judged + progress.shared) / max(self.seconds(), 1e-6)


def counts(progress: Progress) -> str:
    """Return the counts of a batch in one line."""
    parts = [f"{progress.judged:,} judged", f"{progress.shared:,} shared"]
    optional = {
        "already judged": progress.skipped,
        "not judged": progress.not_judged,
        "left out": progress.left_out,
        "scored anew": progress.rescored,
    }
    parts += [f"{count:,} {name}" for name, count in optional.items() if count]
    return ", ".join(parts)


def _progress_line(progress: Progress, total: int, clock: Clock) -> str:
    """Return the progress of a batch as a line for a log."""
    share = progress.done() / max(total, 1)
    left = f", {duration(clock.seconds() * (1 - share) / share)} left" if share else ""
    return f"{share:.0%}: {counts(progress)}; {clock.rate(progress):.1f} verdicts a second{left}"


def render_batch(report: BatchReport, clock: Clock, gradebook: str, *, width: int, color: bool) -> str:
    """Render the report: skipped files and warnings, a row for each exercise, and the counts of this run."""
    lines: list[Line] = [Text(line, "yellow") for line in (*report.skipped.lines(), *map(printable, report.warnings))]
    for exercise, reason in report.progress.broken.items():
        lines.append(Text(f"{exercise} is left out: {printable(reason)}", "red"))
    if report.layout:
        lines.append(Text(f"layout: {report.layout}", "dim"))
    lines += _table(COLUMNS, report.totals, width)
    lines += _table(TRAP_COLUMNS, report.trap_totals, width) if report.trap_totals else []
    time_taken = f"in {duration(clock.seconds())}, {clock.rate(report.progress):.1f} verdicts a second"
    lines.append(Text(f"{counts(report.progress)} {time_taken}; recorded in {printable(gradebook)}"))
    return render_page(lines, width, color=color)


def interrupted(progress: Progress | None, gradebook: str) -> str:
    """Return the message after an interrupt."""
    done = f"{counts(progress)}; " if progress else ""
    done += f"the verdicts so far are recorded in {printable(gradebook)}"
    return f"Interrupted: {done}; the same command continues from there."


def duration(seconds: float) -> str:
    """Format a duration in seconds, in minutes, or in hours and minutes."""
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(round(seconds / MINUTE), MINUTES_IN_HOUR)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _table(headings: Sequence[str], totals: list[Row], width: int) -> list[Line]:
    """Return a table with a row for each exercise: its name, its counts, and the mean score."""
    rows = []
    for exercise, *numbers, mean, max_score in totals:
        score = "" if mean is None else f"{mean:.1f} of {max_score:g}"
        rows.append([exercise, *(f"{number:,}" for number in numbers), score])
    columns = [
        Column(heading=heading, cells=[Text(row[index]) for row in rows], is_number=index > 0)
        for index, heading in enumerate(headings)
    ]
    return fitted_table(columns, width)


LINE_SECONDS = 10.0
"""Seconds between two lines of a log."""

BAR_SECONDS = 0.1
"""Seconds between two updates of the progress bar."""


class Display:
    """Show a batch's progress: a bar on a terminal, lines in a log, and a message after an interrupt."""

    def __init__(self, gradebook: Path, write: Callable[[str], None], *, is_terminal: bool) -> None:
        self.clock = Clock()
        self._gradebook = gradebook
        self._write = write
        self._progress: Progress | None = None
        self._total = 0
        self._shown_at = time.monotonic()
        self._pause = BAR_SECONDS if is_terminal else LINE_SECONDS
        columns = (
            bars.TextColumn("grading"),
            bars.BarColumn(),
            bars.TaskProgressColumn(),
            bars.TextColumn("{task.fields[counts]}"),
            bars.TimeRemainingColumn(),
        )
        bar = bars.Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        self._bar = bar if is_terminal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if isinstance(error, KeyboardInterrupt):
            self._write(interrupted(self._progress, str(self._gradebook)))

    def show(self, total: int) -> Callable[[Progress], None]:
        """Start the display. Return the function that updates it; `total` is the position of the last submission."""
        self._total = total
        if self._bar is not None:
            self._bar.start()
            self._bar.add_task("grading", total=total, counts="starting")
        return self._advance

    def _advance(self, progress: Progress) -> None:
        self._progress = progress
        now = time.monotonic()
        if now - self._shown_at < self._pause:
            return
        self._shown_at = now
        if self._bar is None:
            self._write(_progress_line(progress, self._total, self.clock))
            return
        text = f"{counts(progress)}, {self.clock.rate(progress):.1f}/s"
        self._bar.update(self._bar.task_ids[0], completed=progress.done(), counts=text)
        self._bar.refresh()
