"""A batch from its command's options to its report."""

import contextlib
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from grader.batch.layouts import LAYOUTS, LayoutOptions, SkippedFiles, open_layout
from grader.batch.roster import ClassList, Roster
from grader.batch.run import Batch, Engine, Progress
from grader.batch.tasks import SubmissionLoader
from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.errors import SpecError, UsageError
from grader.gradebook import Gradebook
from grader.verdict.judge import MAX_SEED

MEGABYTE, GIGABYTE = 1 << 20, 1 << 30

Show = Callable[[Progress], None]


class Options(Struct, frozen=True):
    """What a batch is told; without a seed it keeps to the gradebook's, which is drawn once."""

    seed: int | None = None
    shares: bool = True
    allows_open: bool = False
    layout: LayoutOptions = LayoutOptions()
    roster: Roster = Roster()


class Report(Struct, frozen=True):
    """What a batch came to: its own counts, what it skipped, a row of the gradebook for each exercise, and warnings."""

    progress: Progress
    skipped: SkippedFiles
    totals: list[tuple[Any, ...]]
    warnings: list[str] = []
    layout: str = ""

    def exit_code(self) -> int:
        """0 when every submission has a verdict and sharing was right wherever it was looked at, else 1."""
        is_whole = self.progress.is_complete() and self.skipped.is_all_read()
        return 0 if is_whole and not self.progress.alarms else 1


def grade_submissions(
    course: Course,
    submissions: Path,
    gradebook: Path,
    engine: contextlib.AbstractContextManager[Engine],
    options: Options,
    show: Callable[[int], Show],
    warn: Callable[[str], None] = lambda _text: None,
) -> Report:
    """Judge every submission in a folder or file that the gradebook holds no verdict on.

    `show` is given the layout's last position, and gives what is called with the progress, again and again; `warn` is
    called with what to know before anything is judged. Raises `UsageError` for what cannot be meant, `KitError` where
    nothing can be judged or recorded.
    """
    if not (course.root / "solutions").is_dir():
        raise UsageError("this is a student edition, which has no hidden checks; grade from the course with solutions/")
    skipped = SkippedFiles()
    opening = open_layout(submissions, set(course.exercise_ids()), skipped, options.layout)
    with _terminable(), Gradebook(gradebook) as book, opening as (layout, root), engine as running:
        warnings = book.damage()
        for text in (*warnings, *_memory_warning(course, running)):
            warn(text)
        class_list = ClassList(book, options.roster)
        seeds = (options.seed, book.seed(), secrets.randbelow(MAX_SEED))
        seed = next(each for each in seeds if each is not None)
        batch = Batch(course, book, running, seed=seed, shares=options.shares, show=show(layout.total))
        recorded: dict[str, Any] = {"shares": options.shares, "allows_open": options.allows_open, "jobs": running.width}
        recorded |= {"layout": layout.name, "options": options.layout}
        number = book.begin_batch(seed, str(submissions.absolute()), recorded)
        batch.run(class_list.identify(layout), SubmissionLoader(course, root), number)
        _require_submissions(batch.progress, skipped, submissions)
        warnings += [*batch.progress.alarms, *class_list.warnings(), *_without_effect(options, batch.progress)]
        return Report(batch.progress, skipped, book.totals(), warnings, layout.name)


def _memory_warning(course: Course, engine: Engine) -> list[str]:
    """What to know where as many submissions as are judged at once may use more memory than there is."""
    limits = []
    for exercise_id in course.exercise_ids():
        with contextlib.suppress(SpecError):  # said when the exercise is opened
            limits.append(load_exercise(course.description(exercise_id)).limits.memory_mb * MEGABYTE)
    wanted = engine.width * max(limits, default=0)
    if not engine.memory_bytes or wanted <= engine.memory_bytes:
        return []
    has = f"{wanted / GIGABYTE:.1f} GB together, and this machine has {engine.memory_bytes / GIGABYTE:.1f}"
    end = "what is ended for want of memory is judged again later; fewer --jobs avoid that"
    return [f"{engine.width} submissions at once may use {has}: {end}"]


def _without_effect(options: Options, progress: Progress) -> list[str]:
    """Options that say nothing about what is already graded."""
    if not progress.skipped:
        return []
    names = {"--seed": options.seed is not None, "--no-share": not options.shares}
    graded = f"has no effect on the {progress.skipped:,} already graded; to judge them again, use regrade"
    return [f"{name} {graded}" for name, is_given in names.items() if is_given]


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM and a terminal that closes end a batch as Ctrl-C does: in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = [each for each in known if signal.getsignal(each) is not signal.SIG_IGN]  # nohup has its way
    before = [signal.signal(each, signal.default_int_handler) for each in heard]
    try:
        yield
    finally:
        for each, handler in zip(heard, before, strict=True):
            signal.signal(each, handler)


def _require_submissions(progress: Progress, skipped: SkippedFiles, path: Path) -> None:
    if not progress.done():
        found = "".join(f"\n  {line}" for line in skipped.lines())
        wanted = f"hand over {LAYOUTS}; --pattern spells out any other"
        raise UsageError(f"there is no submission in {path}; {wanted}{found}")
