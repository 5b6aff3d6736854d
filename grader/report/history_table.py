"""A student's verdicts -> lines for the terminal."""

from typing import TYPE_CHECKING

from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from grader.report.page import printable, render_page

if TYPE_CHECKING:
    from grader.gradebook.history import PastVerdict

HISTORY_COLUMNS = ("exercise", "judged", "outcome", "score", "seed", "source", "why")
DIGEST_LENGTH = 8


def render_history(student: str, verdicts: "list[PastVerdict]", *, width: int = 100, color: bool = False) -> str:
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
