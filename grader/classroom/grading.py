"""Run a batch, from the options of its command to its report, and display its progress."""

import contextlib
import itertools
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from sqlite3 import Row
from typing import Self

from msgspec import Struct
from rich import progress as bars
from rich.console import Console
from rich.text import Text

from grader.classroom.gradebook import Gradebook
from grader.classroom.gradebook.connection import require_place
from grader.classroom.layouts.files import SkippedFiles
from grader.classroom.opening import EXPECTED, LayoutOptions, open_layout
from grader.classroom.roster import ClassList, Roster
from grader.classroom.run import Batch, Engine, Progress
from grader.classroom.tasks import SubmissionLoader
from grader.errors import SpecError, UsageError
from grader.report.console import ended_by_signals
from grader.report.page import Column, Line, fitted_table, render_page
from grader.report.printable import printable
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.seeds import secret_seed

MEGABYTE, GIGABYTE = 1 << 20, 1 << 30

Show = Callable[[Progress], None]


class Options(Struct, frozen=True, kw_only=True):
    """The options of a batch. The default seed is that of the gradebook's first batch, or else a random one."""

    seed: int | None = None
    shares: bool = True
    allows_open: bool = False
    layout: LayoutOptions = LayoutOptions()
    roster: Roster = Roster()
    is_regrade: bool = False
    """Whether verdicts were cancelled for this batch, so that its options are meant for these alone."""


class BatchReport(Struct, frozen=True, kw_only=True):
    """The result of a batch: its counts, skipped files, rows of the gradebook for each exercise, and warnings."""

    progress: Progress
    skipped: SkippedFiles
    totals: list[Row]
    trap_totals: list[Row] = []
    warnings: list[str] = []
    layout: str = ""

    def exit_code(self) -> int:
        """Return 0 if every submission has a verdict, else 1."""
        return 0 if self.progress.is_complete() and self.skipped.is_all_read() else 1


def grade_submissions(
    course: Course,
    submissions: Path,
    gradebook: Path,
    engine: contextlib.AbstractContextManager[Engine],
    options: Options,
    show: Callable[[int], Show],
    warn: Callable[[str], None] = lambda _text: None,
) -> BatchReport:
    """Judge every submission in a folder or file that has no verdict in the gradebook.

    `show(total)` is called once with the layout's last position; the function that it returns is called repeatedly with
    the progress. `warn` is called with each warning before the first submission is judged.

    Raise `UsageError` for contradictory options or if there are no submissions, and `KitError` if nothing can be judged
    or recorded.
    """
    if not (course.root / "solutions").is_dir():
        raise UsageError("this is a student edition, which has no hidden checks; grade from the course with solutions/")
    require_place(gradebook, is_new=True)
    skipped = SkippedFiles()
    opening = open_layout(submissions, course.module_names(), skipped, options.layout)
    with contextlib.ExitStack() as opened:
        opened.enter_context(ended_by_signals(signal.default_int_handler))  # clean up as after Ctrl-C
        handed_in, root = opened.enter_context(opening)
        found = iter(handed_in)
        first = next(found, None)
        if first is None:  # checked before a gradebook is created, which would store this batch's seed
            raise _no_submissions(skipped, submissions)
        book, running = opened.enter_context(Gradebook(gradebook)), opened.enter_context(engine)
        for text in _memory_warning(course, running):
            warn(text)
        class_list = ClassList(book, options.roster, handed_in.people())
        seeds = (options.seed, book.seed(), secret_seed())
        seed = next(each for each in seeds if each is not None)
        batch = Batch(course, book, running, seed=seed, shares=options.shares, show=show(handed_in.total))
        recorded = {"shares": options.shares, "layout": handed_in.name, "options": options.layout}
        number = book.begin_batch(seed, str(submissions.absolute()), recorded)
        batch.run(class_list.identify(itertools.chain([first], found)), SubmissionLoader(course, root), number)
        warnings = [*class_list.warnings(), *_without_effect(options, batch.progress)]
        return BatchReport(
            progress=batch.progress,
            skipped=skipped,
            totals=book.totals(),
            trap_totals=book.trap_totals(),
            warnings=warnings,
            layout=handed_in.name,
        )


def _memory_warning(course: Course, engine: Engine) -> list[str]:
    """Return a warning if the submissions that are judged at once may use more memory than the machine has."""
    limits = []
    for exercise_id in course.exercise_ids():
        with contextlib.suppress(SpecError):  # reported when the exercise is opened
            limits.append(load_exercise(course.description(exercise_id)).limits.memory_mb * MEGABYTE)
    needed = engine.width * max(limits, default=0)
    if not engine.memory_bytes or needed <= engine.memory_bytes:
        return []
    sizes = f"{needed / GIGABYTE:.1f} GB together, and this machine has {engine.memory_bytes / GIGABYTE:.1f}"
    remedy = "a submission that runs out of memory is judged again later; lower --jobs to avoid that"
    return [f"{engine.width} submissions at once may use {sizes}: {remedy}"]


def _without_effect(options: Options, progress: Progress) -> list[str]:
    """Return a warning for each given option that does not affect existing verdicts."""
    if options.is_regrade or not progress.skipped:
        return []
    names = {"--seed": options.seed is not None, "--no-share": not options.shares}
    graded = f"has no effect on the {progress.skipped:,} already graded; to judge them again, use regrade"
    return [f"{name} {graded}" for name, is_given in names.items() if is_given]


def _no_submissions(skipped: SkippedFiles, path: Path) -> UsageError:
    listed = "".join(f"\n  {line}" for line in skipped.lines())
    expected = f"expected {EXPECTED}; for other names, give --pattern"
    return UsageError(f"there is no submission in {path}; {expected}{listed}")


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
        "already there": progress.skipped,
        "not judged": progress.not_judged,
        "left out": progress.left_out,
        "scored anew": progress.rescored,
    }
    parts += [f"{count:,} {name}" for name, count in optional.items() if count]
    return ", ".join(parts)


def _progress_line(progress: Progress, total: int, clock: Clock) -> str:
    """Return the progress of a batch as a line for a log."""
    share = progress.done() / max(total, 1)
    remaining = clock.seconds() * (1 - share) / share if share else 0.0
    return f"{share:.0%}: {counts(progress)}; {clock.rate(progress):.1f} verdicts a second, {duration(remaining)} left"


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
