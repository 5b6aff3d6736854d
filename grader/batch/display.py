"""How far a batch is, while it runs: a bar on a terminal, a line now and then in a log."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from rich import progress as bars
from rich.console import Console

from grader.batch.run import Progress
from grader.batch.telling import Clock, counts, interrupted, progress_line

LINE_SECONDS = 10.0
"""How often a log gets a line."""

BAR_SECONDS = 0.1
"""How often the bar is drawn."""


class Display:
    """Shows a batch's progress; after an interrupt, says what is kept."""

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
        told = f"{counts(progress)}, {self.clock.rate(progress):.1f}/s"
        self._bar.update(self._bar.task_ids[0], completed=progress.position, counts=told)
        self._bar.refresh()
