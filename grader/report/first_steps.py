"""The steps of the first hunts: the tiny hunt of `start`, and the first real hunt."""

from collections.abc import Sequence

from rich.text import Text

from grader.report.overview import OverviewLine
from grader.report.page import Line, beside, render_page
from grader.report.progress import Progress

MARGIN = 5


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
    end = "This is for practice and earns no points. After each step, python -m grader start shows what is next."
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
