"""The page of a hint."""

from msgspec import Struct
from rich.text import Text

from grader.report.page import Line, beside, render_page
from grader.report.printable import printable

MARGIN = 5
MAX_STEP_TEXT = 2000


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
