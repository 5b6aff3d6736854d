"""The list of exercises, each with its state, and the overall progress."""

from msgspec import Struct
from rich.text import Text

from grader.report.page import render_page
from grader.student.progress import Progress
from grader.verdict.verdict import Result

BAR_WIDTH = 30
HARDEST = 5


class Entry(Struct, frozen=True):
    """One line of the list."""

    exercise: str
    title: str
    progress: Progress
    is_public: bool = False
    difficulty: int = 0

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
    left = [entry for entry in entries if not entry.is_done()]
    if left:
        upcoming = min(left, key=lambda entry: (entry.difficulty or HARDEST + 1, entry.exercise)).exercise
        lines.append(Text(f"Next, easiest first: read exercises/{upcoming}/README.md, then", "dim"))
        lines.append(Text(f"  python -m grader {upcoming}", "dim"))
    elif entries and not any(entry.is_public for entry in entries):
        lines.append(Text("Every defect of every hunt is found and fixed: nobody will fool you soon.", "bold green"))
    return render_page(lines, width, color=color)


def _line(entry: Entry, title_width: int) -> Text:
    mark, style, state = _state(entry)
    dots = "●" * entry.difficulty + "○" * (HARDEST - entry.difficulty)
    title = f"{entry.title:<{title_width}}"
    return Text.assemble((f"{mark} ", style), f"{entry.exercise}  ", (dots, "dim"), f"  {title}", (state, style))


def _state(entry: Entry) -> tuple[str, str, str]:
    progress = entry.progress
    if progress.outcome is None:
        return "·", "dim", "not tried yet"
    if progress.outcome is Result.NOT_GRADABLE:
        return "✗", "red", "does not run"
    if entry.is_public:
        mark, style = ("·", "green") if entry.is_done() else ("✗", "yellow")
        return mark, style, f"{progress.passed} of {progress.checks} public checks pass"
    fixed = f"{len(progress.fixed())} of {len(progress.statuses)} fixed" if progress.statuses else "something broke"
    if progress.outcome is Result.FIXED and not progress.statuses:
        fixed = "nothing to fix"
    return ("✓", "green", fixed) if progress.outcome is Result.FIXED else ("✗", "yellow", fixed)
