"""Every verdict that a student was given."""

from pathlib import Path

from msgspec import Struct

from grader.errors import UsageError
from grader.gradebook.connection import GradebookConnection

STATEMENT = (
    "SELECT submissions.exercise, judged_at, outcome, score, max_score, coalesce(verdicts.reason, ''), digest, file,"
    " verdicts.seed, kit, coalesce(regrades.reason, '') FROM verdicts JOIN submissions ON submissions.id = submission"
    " LEFT JOIN regrades ON regrades.id = regrade WHERE submissions.student = ? ORDER BY 1, verdicts.id"
)


class PastVerdict(Struct, frozen=True):
    """One verdict; without a score where it was not judged. `regraded_for` is the reason of a regrade."""

    exercise: str
    judged_at: str
    outcome: str
    score: float | None
    max_score: float | None
    reason: str
    digest: str
    file: str
    seed: int
    kit: str
    regraded_for: str


def student_history(gradebook: Path, student: str) -> list[PastVerdict]:
    """A student's verdicts, by exercise, oldest first; the student is known by id or by the whole name."""
    book = GradebookConnection(gradebook, writes=False)
    try:
        named = [row[0] for row in book.rows("SELECT student FROM students WHERE name = ?", student)]
        for name in (student, *(named if len(named) == 1 else ())):
            found = [PastVerdict(*row) for row in book.rows(STATEMENT, name)]
            if found:
                return found
        if book.row("SELECT 1 FROM students WHERE student = ? OR name = ?", student, student):
            return []
        raise UsageError(f"{gradebook} knows no student {student!r}; export it to csv to see who is in it")
    finally:
        book.close()
