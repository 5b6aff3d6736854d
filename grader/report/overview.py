"""The list of exercises, and the summaries of a completed theme and course."""

import time
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.text import Text

from grader.report.page import render_page
from grader.report.phrases import counted
from grader.report.progress import Attempt, Progress
from grader.spec.exercise import Exercise
from grader.spec.exercise_names import exercise_number
from grader.verdict.verdict import Result

BAR_WIDTH = 30
HARDEST = 5
BEFORE_TITLE = len("· exercise_01  ●○○○○  ")
LEAST_TITLE = 16
"""The fewest characters of a title that are shown, even on a narrow terminal."""


class OverviewLine(Struct, frozen=True, kw_only=True):
    """One line of the list: an exercise and its stored progress."""

    exercise: str
    title: str
    progress: Progress
    difficulty: int = 0
    theme: str = ""
    announces_count: bool = False
    """Whether the line may show how many defects there are."""

    def is_done(self) -> bool:
        """Return whether the exercise was fixed once."""
        return self.progress.is_solved()

    def is_open(self) -> bool:
        """Return whether every check passes here, although only the hand-in can tell whether the exercise is fixed."""
        progress = self.progress
        all_passed = 0 < progress.checks == progress.passed
        return not self.is_done() and progress.outcome is Result.NOT_FIXED and all_passed and bool(progress.statuses)


def render_overview(entries: list[OverviewLine], *, width: int = 100, color: bool = False) -> str:
    """Render the list of exercises: each theme with its exercises, the easiest first, then the next one to try."""
    done = sum(entry.is_done() for entry in entries)
    filled = round(BAR_WIDTH * done / max(len(entries), 1))
    bar = Text.assemble(
        ("█" * filled, "green"), ("░" * (BAR_WIDTH - filled), "dim"), f"  {done} of {len(entries)} fixed"
    )
    longest = max((len(entry.title) for entry in entries), default=0)
    most_state = max((len(_state(entry)[2]) for entry in entries), default=0)
    room = max(width - BEFORE_TITLE - most_state, LEAST_TITLE)
    lines = [*_grouped(entries, min(longest + 2, room)), Text(), bar]
    remaining = [entry for entry in entries if not (entry.is_done() or entry.is_open())]
    if remaining:
        upcoming = min(remaining, key=_difficulty).exercise
        lines.append(Text(f"Next, easiest first: read exercises/{upcoming}/README.md, then", "dim"))
        lines.append(Text(f"  python -m grader {upcoming}", "dim"))
    elif entries and done == len(entries):
        lines.append(Text("You have solved every hunt.", "bold green"))
    return render_page(lines, width, color=color)


def first_hunt(entries: Sequence[OverviewLine]) -> OverviewLine | None:
    """Return the easiest exercise; None if there are none."""
    return min(entries, key=_difficulty, default=None)


def render_completed_theme(theme: str, hunts: Sequence[Exercise], *, width: int = 100, color: bool = False) -> str:
    """Render the page after the last hunt of a theme: each hunt with its defects."""
    lines = [Text(), Text(f"Theme complete: {theme}", "bold green")]
    for exercise in hunts:
        lines.append(Text(f"{exercise.id}  {exercise.title}"))
        lines += [Text(f"{'':{len(exercise.id)}}  - {title}", "dim") for title in _titles(exercise)]
    return render_page(lines, width, color=color)


def _titles(exercise: Exercise) -> list[str]:
    """Return the titles of the defects whose explanations the student has."""
    if not exercise.defects:
        return ["nothing was wrong"]
    return [defect.title for defect in exercise.defects if defect.is_explained()]


def render_completed_course(entries: Sequence[OverviewLine], *, width: int = 100, color: bool = False) -> str:
    """Render the page after the last hunt of the course: a summary of all hunts."""
    bests = [entry.progress.best for entry in entries if entry.progress.best]
    attempts = sum(len(entry.progress.attempts) for entry in entries)
    steps = sum(sum(entry.progress.hints_given.values()) for entry in entries)
    facts = [
        counted(len(entries), "hunt") + " solved",
        counted(sum(each.fixed + each.extras for each in bests), "defect") + " fixed",
        counted(attempts, "attempt"),
        counted(steps, "hint"),
    ]
    days = sorted(time.strftime("%Y-%m-%d", time.localtime(each.at)) for each in bests)
    lines = [Text(), Text("Course complete", "bold green"), Text(" · ".join(facts))]
    lines += [Text(f"Solved between {days[0]} and {days[-1]}.", "dim")] if days else []
    lines.append(Text("Your progress and explanations stay here: grade any hunt again to read its page.", "dim"))
    return render_page(lines, width, color=color)


def _grouped(entries: list[OverviewLine], title_width: int) -> Iterator[Text]:
    """Yield the themes in the order of their first exercises; exercises without a theme come last."""
    numbers = [(exercise_number(entry.exercise), entry.theme) for entry in entries]
    firsts = {theme: number for number, theme in sorted(numbers, reverse=True)}
    for place, theme in enumerate(sorted(firsts, key=lambda theme: (not theme, firsts[theme]))):
        yield from [Text()] * (place > 0) + [Text(theme, "bold")] * bool(theme)
        chosen = [entry for entry in entries if entry.theme == theme]
        yield from (_line(entry, title_width) for entry in sorted(chosen, key=_difficulty))


def _difficulty(entry: OverviewLine) -> tuple[int, int]:
    """Return the sort key that puts easy exercises first and those of unknown difficulty last."""
    return entry.difficulty or HARDEST + 1, exercise_number(entry.exercise)


def _line(entry: OverviewLine, title_width: int) -> Text:
    mark, style, state = _state(entry)
    dots = "●" * entry.difficulty + "○" * (HARDEST - entry.difficulty)
    title = entry.title if len(entry.title) + 2 <= title_width else f"{entry.title[: title_width - 3].rstrip()}…"
    title = f"{title:<{title_width}}"
    return Text.assemble((f"{mark} ", style), f"{entry.exercise}  ", (dots, "dim"), f"  {title}", (state, style))


def _state(entry: OverviewLine) -> tuple[str, str, str]:
    progress, best = entry.progress, entry.progress.best
    if progress.outcome is None or best is None:
        return "·", "dim", "not tried yet"
    if entry.is_done():
        return "✓", "green", _solved(progress, best)
    if progress.outcome is Result.NOT_GRADABLE:
        return "✗", "red", "does not run"
    if entry.is_open():
        return "·", "green", "nothing wrong found here"
    if not entry.announces_count:
        return "✗", "yellow", f"{best.score:g} of {progress.max_score:g} points"
    return "✗", "yellow", f"{best.fixed} of {best.defects} fixed"


def _solved(progress: Progress, best: Attempt) -> str:
    """Return the state of a solved exercise, with the date if its file has changed for the worse since."""
    word = "fixed"
    if progress.outcome is Result.FIXED:
        return word
    return f"{word} on {time.strftime('%Y-%m-%d', time.localtime(best.at))}; not fixed now"
