"""Run a batch, from the options of its command to its report."""

import contextlib
import itertools
import signal
from collections.abc import Callable
from pathlib import Path
from sqlite3 import Row

from msgspec import Struct

from grader.classroom.gradebook import Gradebook
from grader.classroom.gradebook.connection import require_place
from grader.classroom.layouts.files import SkippedFiles
from grader.classroom.opening import EXPECTED, LayoutOptions, open_layout
from grader.classroom.roster import ClassList, Roster
from grader.classroom.run import Batch, Engine, Progress
from grader.classroom.tasks import SubmissionLoader
from grader.errors import SpecError, UsageError
from grader.report.console import ended_by_signals
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.seeds import secret_seed

MEGABYTE, GIGABYTE = 1 << 20, 1 << 30

Show = Callable[[Progress], None]


class BatchOptions(Struct, frozen=True, kw_only=True):
    """The options of a batch. The default seed is the seed of the gradebook's first batch, or else a random seed."""

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
    options: BatchOptions,
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


def _without_effect(options: BatchOptions, progress: Progress) -> list[str]:
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
