"""The list of exercises, each with its state, and the overall progress."""

from msgspec import Struct
from rich.text import Text

from grader.report.page import render_page
from grader.student.progress import Progress
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result

BAR_WIDTH = 30


class Entry(Struct, frozen=True):
    """One line of the list."""

    exercise: str
    title: str
    progress: Progress
    is_public: bool = False

    def is_done(self) -> bool:
        """Whether it is fixed, or in a student edition, right as far as its public checks see."""
        if self.is_public:
            return 0 < self.progress.checks == self.progress.passed
        return self.progress.outcome is Result.FIXED


def render_overview(entries: list[Entry], *, width: int = 100, color: bool = False) -> str:
    """The list as lines of text."""
    done = sum(entry.is_done() for entry in entries)
    filled = round(BAR_WIDTH * done / max(len(entries), 1))
    state = "pass their public checks" if any(entry.is_public for entry in entries) else "fixed"
    bar = Text.assemble(
        ("█" * filled, "green"), ("░" * (BAR_WIDTH - filled), "dim"), f"  {done} of {len(entries)} {state}"
    )
    longest = max((len(entry.title) for entry in entries), default=0)
    lines = [*(_line(entry, longest + 2) for entry in entries), Text(), bar]
    upcoming = next((entry.exercise for entry in entries if not entry.is_done()), None)
    if upcoming:
        lines.append(Text(f"Next: read exercises/{upcoming}/README.md, then python -m grader {upcoming}", "dim"))
    return render_page(lines, width, color=color)


def _line(entry: Entry, title_width: int) -> Text:
    mark, style, state = _state(entry)
    return Text.assemble((f"{mark} ", style), f"{entry.exercise}  {entry.title:<{title_width}}", (state, style))


def _state(entry: Entry) -> tuple[str, str, str]:
    progress = entry.progress
    if progress.outcome is None:
        return "·", "dim", "not tried yet"
    if progress.outcome is Result.NOT_GRADABLE:
        return "✗", "red", "not gradable"
    if entry.is_public:
        mark, style = ("·", "green") if entry.is_done() else ("✗", "yellow")
        return mark, style, f"{progress.passed} of {progress.checks} public checks pass"
    score = f"{progress.score:g} of {progress.max_score:g}"
    if progress.outcome is Result.FIXED:
        return "✓", "green", f"fixed, {score}"
    gone = sum(status is DefectStatus.FIXED for status in progress.statuses.values())
    return "✗", "yellow", f"{score}, {gone} of {len(progress.statuses)} gone"
