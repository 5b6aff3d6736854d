"""A hint -> lines for the terminal: earlier steps above, the newest last."""

from typing import TYPE_CHECKING

from rich.text import Text

from grader.report.page import Line, beside, printable, render_page

if TYPE_CHECKING:
    from grader.student.hints import Hint

MARGIN = 5
MOST_STEP_TEXT = 2000


def render_hint(hint: "Hint", *, width: int = 100, color: bool = False) -> str:
    """What it is about, the steps given so far, and what comes next."""
    lines: list[Line] = [Text(printable(hint.about, MOST_STEP_TEXT), "bold"), Text()] if hint.steps else []
    for number, step in enumerate(hint.steps, 1):
        is_newest = number == len(hint.steps)
        mark = Text(f"{number:>2} ", "bold green" if is_newest else "dim") if hint.total > 1 else Text(" ·")
        lines.append(beside(mark, Text(printable(step, MOST_STEP_TEXT), "" if is_newest else "dim"), MARGIN))
    if hint.steps and hint.total > 1:
        lines += [Text(), Text(f"Step {len(hint.steps)} of {hint.total}. {hint.after}", "dim")]
    elif hint.after:
        lines.append(Text(hint.after))
    return render_page(lines, width, color=color)
