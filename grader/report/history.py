"""The table of a student's verdicts in a gradebook."""

from msgspec import Struct
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from grader.report.page import render_page
from grader.report.printable import printable

HISTORY_COLUMNS = ("exercise", "judged", "outcome", "score", "seed", "source", "reason")
DIGEST_LENGTH = 8


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


def render_history(student: str, verdicts: list[PastVerdict], *, width: int = 100, color: bool = False) -> str:
    """Render a table with a row for each verdict, in the given order."""
    if not verdicts:
        return f"{printable(student)} is in the roster and has handed in nothing.\n"
    table = Table(box=None, pad_edge=False)
    for column in HISTORY_COLUMNS:
        justify: JustifyMethod = "right" if column in {"score", "seed"} else "left"
        table.add_column(column, justify=justify, no_wrap=column != "reason")
    for each in verdicts:
        score = "" if each.score is None else f"{each.score:g} of {each.max_score:g}"
        reason = f"regraded: {printable(each.regraded_for)}" if each.regraded_for else printable(each.reason)
        outcome = each.outcome.replace("_", " ")
        table.add_row(
            each.exercise, each.judged_at, outcome, score, str(each.seed), each.digest[:DIGEST_LENGTH], Text(reason)
        )
    return render_page([Text(printable(student), "bold"), table], width, color=color)
