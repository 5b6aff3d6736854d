"""Progress and reports of a batch as text."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.batch.grading import Report
from grader.batch.run import Progress
from grader.report.page import Line, printable, render_page

MINUTE, MINUTES_IN_HOUR = 60, 60
COLUMNS = ("exercise", "submissions", "fixed", "not fixed", "not gradable", "not judged", "shared", "mean score")


class Clock:
    """How fast a batch is, from when it was made."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self._started

    def rate(self, progress: Progress) -> float:
        """Verdicts a second, those that were already there aside."""
        return (progress.judged + progress.shared) / max(self.seconds(), 1e-6)


def counts(progress: Progress) -> str:
    """What was done, in a line."""
    parts = [f"{progress.judged:,} judged", f"{progress.shared:,} shared"]
    optional = {
        "already there": progress.skipped,
        "not judged": progress.not_judged,
        "left out": progress.left,
        "scored anew": progress.rescored,
    }
    parts += [f"{count:,} {name}" for name, count in optional.items() if count]
    return ", ".join(parts)


def progress_line(progress: Progress, total: int, clock: Clock) -> str:
    """How far a batch is, for a log."""
    share = progress.position / max(total, 1)
    left = clock.seconds() * (1 - share) / share if share else 0.0
    return f"{share:.0%}: {counts(progress)}; {clock.rate(progress):.1f} verdicts a second, {duration(left)} left"


def render_report(report: Report, clock: Clock, gradebook: str, *, width: int, color: bool) -> str:
    """What a batch came to: what was skipped, a row for each exercise, and what this run did."""
    lines: list[Line] = [Text(line, "yellow") for line in (*report.skipped.lines(), *map(printable, report.warnings))]
    for exercise, why in report.progress.broken.items():
        lines.append(Text(f"{exercise} is left out, its description or reference is at fault: {printable(why)}", "red"))
    if report.layout:
        lines.append(Text(f"layout: {report.layout}", "dim"))
    lines.append(_table(report.totals))
    time_taken = f"in {duration(clock.seconds())}, {clock.rate(report.progress):.1f} verdicts a second"
    lines.append(Text(f"{counts(report.progress)} {time_taken}; recorded in {printable(gradebook)}"))
    return render_page(lines, width, color=color)


def interrupted(progress: Progress | None, gradebook: str) -> str:
    """What to know after an interrupt."""
    done = f"{counts(progress)}; " if progress else ""
    done += f"what was judged is recorded in {printable(gradebook)}"
    return f"Interrupted: {done}; the same command goes on from there."


def duration(seconds: float) -> str:
    """Seconds, or minutes, or hours."""
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(round(seconds / MINUTE), MINUTES_IN_HOUR)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _table(totals: list[tuple[Any, ...]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if number else "left")
    for exercise, *numbers, mean, most in totals:
        score = "" if mean is None else f"{mean:.1f} of {most:g}"
        table.add_row(exercise, *(f"{number:,}" for number in numbers), score)
    return table


LINE_SECONDS = 10.0
"""How often a log gets a line."""

BAR_SECONDS = 0.1
"""How often the bar is drawn."""


class Display:
    """Shows a batch's progress; after an interrupt, says what is recorded."""

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
        """What is to be called with the progress; `total` is the position of the last submission."""
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
            self._write(progress_line(progress, self._total, self.clock))
            return
        text = f"{counts(progress)}, {self.clock.rate(progress):.1f}/s"
        self._bar.update(self._bar.task_ids[0], completed=progress.position, counts=text)
        self._bar.refresh()
