"""Terminal pages besides verdicts, and the table of hunts in Markdown.

The pages are the list of exercises, the steps of the first hunts, the summaries of a completed theme and course, hints,
a student's history, and the doctor's table.
"""

import time
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from grader.report.page import Line, beside, render_page
from grader.report.phrases import counted, missed_tests
from grader.report.printable import printable
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


class Hint(Struct, frozen=True, kw_only=True):
    """A hint: its title, the steps given so far, the number of all steps, and the next action with its commands.

    `caveat` is the reason why the steps may not apply.
    """

    title: str
    steps: list[str] = []
    total: int = 0
    next_action: str = ""
    commands: list[str] = []
    caveat: str = ""


class HostState(Struct, frozen=True, kw_only=True):
    """One requirement on this machine: whether it is met, what was observed, and the remedy if it is not met."""

    name: str
    is_met: bool
    observed: str
    remedy: str = ""


class PastVerdict(Struct, frozen=True, kw_only=True):
    """One verdict of a gradebook. The scores are None if it was not judged; `regraded_for` is a regrade's reason."""

    exercise: str
    judged_at: str
    outcome: str
    score: float | None
    max_score: float | None
    reason: str
    digest: str
    seed: int
    regraded_for: str


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


def render_start(entry: OverviewLine, file: str, *, width: int = 100, color: bool = False) -> str:
    """Render the steps of the first hunt, with a mark at those that are done, and where to go from there."""
    name, progress = entry.exercise, entry.progress
    steps = [
        (f"Read the story: exercises/{name}/README.md", bool(progress.attempts)),
        (f"Grade the code as it is: python -m grader {name}", bool(progress.attempts)),
        ("Read the page: what your code does, what was expected, and at which sizes", bool(progress.attempts)),
        (f"Find out where it goes wrong, step by step: python -m grader guide {name}", bool(progress.guide.started)),
        (f"Stuck? Ask for a hint: python -m grader hint {name}", any(progress.hints_given.values())),
        (f"Fix what you found in {file}, and grade again", any(each.fixed for each in progress.attempts)),
        ('Repeat until the page says "Fixed"', entry.is_done()),
    ]
    end = "You have finished your first hunt. python -m grader lists the others." if entry.is_done() else ""
    title = Text(f"Your first hunt: {name} · {entry.title}", "bold")
    return render_page([title, Text(), *_step_lines(steps), *_end_lines(end)], width, color=color)


def render_first_steps(
    story: str, name: str, progress: Progress, file: str, *, is_edited: bool, width: int = 100, color: bool = False
) -> str:
    """Render the steps of the tiny hunt: its story, and a mark at the steps that are done."""
    title, *paragraphs = story.strip().split("\n\n")
    has_hints = any(progress.hints_given.values())
    steps = [
        (f"Grade the code as it is: python -m grader {name}", bool(progress.attempts)),
        (
            "Read the page: what your code does, what was expected, and at which sizes it is wrong or right",
            has_hints or is_edited,
        ),
        (f"Ask for a hint: python -m grader hint {name}", has_hints),
        (f"Repeat the failed call yourself: python -m grader try {name}", is_edited),
        (f"Open {file} in your editor, change one line, and save", is_edited),
        (f'Grade again, until the page says "Fixed": python -m grader {name}', False),
    ]
    lines: list[Line] = [Text(f"Your first five minutes: {title.removeprefix('# ')}", "bold"), Text()]
    for paragraph in paragraphs:
        lines += [Text(" ".join(paragraph.split())), Text()]
    end = "It is for practice and counts for nothing. After each step, python -m grader start shows what is next."
    return render_page([*lines, *_step_lines(steps), Text(), Text(end)], width, color=color)


def render_first_end(*, width: int = 100, color: bool = False) -> str:
    """Render the end of the tiny hunt."""
    end = "That was a whole hunt: grade, read, ask, try, fix one line, grade again."
    following = "python -m grader start shows the steps of your first real hunt."
    return render_page([*_end_lines(end), Text(following)], width, color=color)


def _step_lines(steps: Sequence[tuple[str, bool]]) -> list[Line]:
    """Return numbered steps, with a mark at those that are done."""
    lines: list[Line] = []
    for number, (step, is_done) in enumerate(steps, 1):
        mark = Text(f"✓ {number}", "green") if is_done else Text(f"· {number}", "dim")
        lines.append(beside(mark, Text(step, "dim" if is_done else ""), MARGIN))
    return lines


def _end_lines(end: str) -> list[Line]:
    return [Text(), Text(end, "bold green")] if end else []


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


MARGIN = 5
MAX_STEP_TEXT = 2000


def render_hint(hint: Hint, *, width: int = 100, color: bool = False) -> str:
    """Render the hint's title, its steps so far, and the next action."""
    lines: list[Line] = [Text(printable(hint.title, MAX_STEP_TEXT), "bold")] if hint.steps else []
    lines += [Text(printable(hint.caveat, MAX_STEP_TEXT), "yellow")] if hint.steps and hint.caveat else []
    lines += [Text()] if hint.steps else []
    for number, step in enumerate(hint.steps, 1):
        is_newest = number == len(hint.steps)
        mark = Text(f"{number:>2} ", "bold green" if is_newest else "dim") if hint.total > 1 else Text(" ·")
        lines.append(beside(mark, Text(printable(step, MAX_STEP_TEXT), "" if is_newest else "dim"), MARGIN))
    if hint.steps and hint.total > 1:
        lines += [Text(), *_action_lines(f"Hint {len(hint.steps)} of {hint.total}. {hint.next_action}", hint, width)]
    elif hint.next_action:
        lines += _action_lines(hint.next_action, hint, width)
    return render_page(lines, width, color=color)


def _action_lines(action: str, hint: Hint, width: int) -> list[Line]:
    """Return the next action with its commands. If it is too long for a line, each command has its own for copying."""
    if not hint.commands:
        return [Text(action)]
    line = f"{action}: {', '.join(hint.commands)}"
    if len(line) <= width:
        return [Text(line, "dim")]
    return [Text(f"{action}:", "dim"), *(Text(f"  {command}", "dim") for command in hint.commands)]


HISTORY_COLUMNS = ("exercise", "judged", "outcome", "score", "seed", "source", "why")
DIGEST_LENGTH = 8


def render_history(student: str, verdicts: list[PastVerdict], *, width: int = 100, color: bool = False) -> str:
    """Render a table with a row for each verdict, in the given order."""
    if not verdicts:
        return f"{printable(student)} is in the roster and has handed in nothing.\n"
    table = Table(box=None, pad_edge=False)
    for column in HISTORY_COLUMNS:
        justify: JustifyMethod = "right" if column in {"score", "seed"} else "left"
        table.add_column(column, justify=justify, no_wrap=column != "why")
    for each in verdicts:
        score = "" if each.score is None else f"{each.score:g} of {each.max_score:g}"
        reason = f"regraded: {printable(each.regraded_for)}" if each.regraded_for else printable(each.reason)
        outcome = each.outcome.replace("_", " ")
        table.add_row(
            each.exercise, each.judged_at, outcome, score, str(each.seed), each.digest[:DIGEST_LENGTH], Text(reason)
        )
    return render_page([Text(printable(student), "bold"), table], width, color=color)


def render_host_states(states: Sequence[HostState], *, width: int = 100, color: bool = False) -> str:
    """Render a line for each requirement on the machine, with a remedy below each one that is not met."""
    lines = []
    for state in states:
        mark, style = ("✓", "green") if state.is_met else ("✗", "red")
        lines.append(Text.assemble((f"{mark} ", style), f"{state.name:<13}{state.observed}"))
        if not state.is_met and state.remedy:
            lines.append(Text(f"{'':<15}{state.remedy}", "dim"))
    problems = sum(not state.is_met for state in states)
    lines += [Text(), Text("Everything works." if not problems else f"{problems} of {len(states)} do not work.")]
    return render_page(lines, width, color=color)


HUNT_COLUMNS = ("exercise", "title", "origin", "kind", "difficulty", "defects", "missed by")


def render_hunts(exercises: Sequence[Exercise]) -> str:
    """Return a Markdown table with a row for each exercise."""
    rows: list[Sequence[str]] = [HUNT_COLUMNS, ["---"] * len(HUNT_COLUMNS)]
    for exercise in exercises:
        source = exercise.source
        origin = f"[{source.title}]({source.url})" if source.url else source.title
        defects = "<br>".join(f"`{defect.id}`" for defect in exercise.defects) or "none"
        missed_by = "<br>".join(missed_tests(defect) or "no usual test" for defect in exercise.defects)
        kind, difficulty = str(exercise.interface.kind_name), str(exercise.difficulty)
        rows.append([exercise.id, exercise.title, origin, kind, difficulty, defects, missed_by])
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)
