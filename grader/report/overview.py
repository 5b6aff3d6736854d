"""The list of exercises, each with its state, and the overall progress."""

from msgspec import Struct
from rich.text import Text

from grader.progress import Progress
from grader.report.page import render_page
from grader.verdict import DefectStatus, Result

BAR_WIDTH = 30


class Entry(Struct, frozen=True):
    """One line of the list."""

    exercise: str
    title: str
    progress: Progress


def render_overview(entries: list[Entry], *, width: int = 100, color: bool = False) -> str:
    """The list as lines of text."""
    fixed = sum(entry.progress.outcome is Result.FIXED for entry in entries)
    done = round(BAR_WIDTH * fixed / max(len(entries), 1))
    bar = Text.assemble(("█" * done, "green"), ("░" * (BAR_WIDTH - done), "dim"), f"  {fixed} of {len(entries)} fixed")
    longest = max((len(entry.title) for entry in entries), default=0)
    lines = [*(_line(entry, longest + 2) for entry in entries), Text(), bar]
    upcoming = next((entry.exercise for entry in entries if entry.progress.outcome is not Result.FIXED), None)
    if upcoming:
        lines.append(Text(f"Next: read exercises/{upcoming}/README.md, then python -m grader {upcoming}", "dim"))
    return render_page(lines, width, color=color)


def _line(entry: Entry, title_width: int) -> Text:
    mark, style, state = _state(entry.progress)
    return Text.assemble((f"{mark} ", style), f"{entry.exercise}  {entry.title:<{title_width}}", (state, style))


def _state(progress: Progress) -> tuple[str, str, str]:
    if progress.outcome is None:
        return "·", "dim", "not tried yet"
    if progress.outcome is Result.NOT_GRADABLE:
        return "✗", "red", "not gradable"
    score = f"{progress.score:g} of {progress.max_score:g}"
    if progress.outcome is Result.FIXED:
        return "✓", "green", f"fixed, {score}"
    gone = sum(status is DefectStatus.FIXED for status in progress.statuses.values())
    return "✗", "yellow", f"{score}, {gone} of {len(progress.statuses)} gone"
