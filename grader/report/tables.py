"""What the terminal shows beside verdicts: the list of exercises, hints, a student's history, the doctor's table."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from grader.report.console import Line, beside, printable, render_page
from grader.report.view import Hint, HostState, PastVerdict, Progress
from grader.spec.exercise import Exercise
from grader.verdict.verdict import Result

BAR_WIDTH = 30
HARDEST = 5
BEFORE_TITLE = len("· exercise_01  ●○○○○  ")
LEAST_TITLE = 16
"""Characters of a title that are shown however narrow the terminal is."""


class OverviewLine(Struct, frozen=True):
    """One line of the list."""

    exercise: str
    title: str
    progress: Progress
    difficulty: int = 0
    theme: str = ""

    def is_done(self) -> bool:
        """Whether it is fixed."""
        return self.progress.outcome is Result.FIXED

    def is_open(self) -> bool:
        """Whether nothing wrong is seen, and what is not known of its defects is found out at the hand-in."""
        known = self.progress
        return known.outcome is Result.NOT_FIXED and 0 < known.checks == known.passed


def render_overview(entries: list[OverviewLine], *, width: int = 100, color: bool = False) -> str:
    """The list as lines of text: under each theme its exercises, the easiest first."""
    done = sum(entry.is_done() for entry in entries)
    filled = round(BAR_WIDTH * done / max(len(entries), 1))
    bar = Text.assemble(
        ("█" * filled, "green"), ("░" * (BAR_WIDTH - filled), "dim"), f"  {done} of {len(entries)} fixed"
    )
    longest = max((len(entry.title) for entry in entries), default=0)
    most_state = max((len(_state(entry)[2]) for entry in entries), default=0)
    room = max(width - BEFORE_TITLE - most_state, LEAST_TITLE)
    lines = [*_grouped(entries, min(longest + 2, room)), Text(), bar]
    left = [entry for entry in entries if not (entry.is_done() or entry.is_open())]
    if left:
        upcoming = min(left, key=_easiest).exercise
        lines.append(Text(f"Next, easiest first: read exercises/{upcoming}/README.md, then", "dim"))
        lines.append(Text(f"  python -m grader {upcoming}", "dim"))
    elif entries:
        lines.append(Text("Every defect of every hunt is found and fixed: nobody will fool you soon.", "bold green"))
    return render_page(lines, width, color=color)


def _grouped(entries: list[OverviewLine], title_width: int) -> Iterator[Text]:
    """Return the themes in the order of their first exercises; exercises without a theme come last."""
    firsts = {entry.theme: entry.exercise for entry in sorted(entries, key=lambda entry: entry.exercise, reverse=True)}
    for place, theme in enumerate(sorted(firsts, key=lambda theme: (not theme, firsts[theme]))):
        yield from [Text()] * (place > 0) + [Text(theme, "bold")] * bool(theme)
        chosen = [entry for entry in entries if entry.theme == theme]
        yield from (_line(entry, title_width) for entry in sorted(chosen, key=_easiest))


def _easiest(entry: OverviewLine) -> tuple[int, str]:
    """Return the sort key of an exercise; unknown difficulty comes last."""
    return entry.difficulty or HARDEST + 1, entry.exercise


def _line(entry: OverviewLine, title_width: int) -> Text:
    mark, style, state = _state(entry)
    dots = "●" * entry.difficulty + "○" * (HARDEST - entry.difficulty)
    title = entry.title if len(entry.title) + 2 <= title_width else f"{entry.title[: title_width - 3].rstrip()}…"
    title = f"{title:<{title_width}}"
    return Text.assemble((f"{mark} ", style), f"{entry.exercise}  ", (dots, "dim"), f"  {title}", (state, style))


def _state(entry: OverviewLine) -> tuple[str, str, str]:
    progress = entry.progress
    if progress.outcome is None:
        return "·", "dim", "not tried yet"
    if progress.outcome is Result.NOT_GRADABLE:
        return "✗", "red", "does not run"
    if entry.is_open():
        return "·", "green", "nothing wrong seen here"
    fixed = f"{len(progress.fixed())} of {len(progress.statuses)} fixed" if progress.statuses else "something broke"
    if progress.outcome is Result.FIXED and not progress.statuses:
        fixed = "nothing to fix"
    return ("✓", "green", fixed) if progress.outcome is Result.FIXED else ("✗", "yellow", fixed)


MARGIN = 5
MOST_STEP_TEXT = 2000


def render_hint(hint: Hint, *, width: int = 100, color: bool = False) -> str:
    """Return the hint's subject, the steps so far, and the next action."""
    lines: list[Line] = [Text(printable(hint.about, MOST_STEP_TEXT), "bold")] if hint.steps else []
    lines += [Text(printable(hint.doubt, MOST_STEP_TEXT), "yellow")] if hint.steps and hint.doubt else []
    lines += [Text()] if hint.steps else []
    for number, step in enumerate(hint.steps, 1):
        is_newest = number == len(hint.steps)
        mark = Text(f"{number:>2} ", "bold green" if is_newest else "dim") if hint.total > 1 else Text(" ·")
        lines.append(beside(mark, Text(printable(step, MOST_STEP_TEXT), "" if is_newest else "dim"), MARGIN))
    if hint.steps and hint.total > 1:
        lines += [Text(), *_after(f"Step {len(hint.steps)} of {hint.total}. {hint.after}", width)]
    elif hint.after:
        lines.append(Text(hint.after))
    return render_page(lines, width, color=color)


def _after(text: str, width: int) -> list[Line]:
    """What comes next; where one line does not hold it, each command has its own, to be copied whole."""
    if len(text) <= width:
        return [Text(text, "dim")]
    what, *commands = re.split(" (?=python -m grader )", text)
    return [Text(what, "dim"), *(Text(f"  {command}", "dim") for command in commands)]


HISTORY_COLUMNS = ("exercise", "judged", "outcome", "score", "seed", "source", "why")
DIGEST_LENGTH = 8


def render_history(student: str, verdicts: list[PastVerdict], *, width: int = 100, color: bool = False) -> str:
    """A row for each verdict, oldest first within an exercise."""
    if not verdicts:
        return f"{printable(student)} is in the roster and has handed in nothing.\n"
    table = Table(box=None, pad_edge=False)
    for column in HISTORY_COLUMNS:
        justify: JustifyMethod = "right" if column in {"score", "seed"} else "left"
        table.add_column(column, justify=justify, no_wrap=column != "why")
    for each in verdicts:
        score = "" if each.score is None else f"{each.score:g} of {each.max_score:g}"
        why = f"regraded: {printable(each.regraded_for)}" if each.regraded_for else printable(each.reason)
        outcome = each.outcome.replace("_", " ")
        table.add_row(
            each.exercise, each.judged_at, outcome, score, str(each.seed), each.digest[:DIGEST_LENGTH], Text(why)
        )
    return render_page([Text(printable(student), "bold"), table], width, color=color)


def render_host_states(found: Sequence[HostState], *, width: int = 100, color: bool = False) -> str:
    """Return one line for each part of the machine, with a remedy where something is wrong."""
    lines = []
    for each in found:
        mark, style = ("✓", "green") if each.is_well else ("✗", "red")
        lines.append(Text.assemble((f"{mark} ", style), f"{each.name:<13}{each.seen}"))
        if not each.is_well and each.remedy:
            lines.append(Text(f"{'':<15}{each.remedy}", "dim"))
    amiss = sum(not each.is_well for each in found)
    lines += [Text(), Text("All is well." if not amiss else f"{amiss} of {len(found)} are amiss.")]
    return render_page(lines, width, color=color)


HUNT_COLUMNS = ("exercise", "title", "origin", "kind", "difficulty", "defects", "missed by")


def render_hunts(exercises: Sequence[Exercise]) -> str:
    """Return a Markdown table with a row for each exercise."""
    rows: list[Sequence[str]] = [HUNT_COLUMNS, ["---"] * len(HUNT_COLUMNS)]
    for exercise in exercises:
        source = exercise.source
        origin = f"[{source.title}]({source.url})" if source.url else source.title
        defects = "<br>".join(f"`{defect.id}`" for defect in exercise.defects) or "none"
        missed_by = "<br>".join(defect.missed() or "no usual test" for defect in exercise.defects)
        kind, difficulty = str(exercise.interface.kind_name), str(exercise.difficulty)
        rows.append([exercise.id, exercise.title, origin, kind, difficulty, defects, missed_by])
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)
