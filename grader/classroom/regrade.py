"""Regrade submissions, and update scores when the points of an exercise change."""

from pathlib import Path

import msgspec
from msgspec import Struct

from grader.classroom.gradebook import Gradebook, WorkKind
from grader.classroom.gradebook.rows import as_json
from grader.classroom.opening import LayoutOptions
from grader.classroom.work import WORK
from grader.errors import UsageError
from grader.spec.exercise import Exercise


class RecordedBatch(Struct, frozen=True, kw_only=True):
    """Options of a batch that a regrade keeps: the layout, and whether equal submissions share a verdict."""

    options: LayoutOptions = LayoutOptions()
    shares: bool = True


class RegradeRequest(Struct, frozen=True, kw_only=True):
    """The number of submissions to grade again, and the folder and the options of each batch that they came with."""

    count: int
    batches: list[tuple[Path, RecordedBatch]]


def request_regrade(
    gradebook: Path, exercise: str, student: str | None, reason: str, submissions: Path | None
) -> RegradeRequest:
    """Cancel verdicts, so that the next batch grades their submissions again.

    The submissions must be where they were when they were graded, unless `submissions` is given. If they were moved, or
    if there is no such verdict, change nothing and raise `UsageError`.
    """
    if not gradebook.is_file():
        raise UsageError(f"there is no gradebook {gradebook}; name the file that you gave to batch")
    with Gradebook(gradebook) as book:
        found = book.rows(
            "SELECT batches.submissions, options FROM submissions JOIN verdicts"
            " ON verdicts.id = (SELECT max(id) FROM verdicts WHERE submission = submissions.id) JOIN batches"
            " ON batches.id = batch WHERE exercise = ? AND student = coalesce(?, student) ORDER BY batches.id",
            exercise,
            student,
        )
        places = {Path(row["submissions"]): msgspec.json.decode(row["options"], type=RecordedBatch) for row in found}
        if submissions is not None:
            places = {submissions: next(reversed(places.values()), RecordedBatch())}
        for path in places:
            if not path.exists():
                raise UsageError(f"the submissions are no longer in {path}; give their folder with --submissions")
        return RegradeRequest(count=book.request_regrade(exercise, student, reason), batches=list(places.items()))


AFFECTED = (
    "SELECT verdicts.id, outcome, score, coalesce(shared_with, verdicts.id) AS judged_in"
    " FROM verdicts JOIN submissions ON submissions.id = submission"
    " WHERE exercise = ? AND exercise_version = ? AND kind = ?"
)


def rescore(gradebook: Gradebook, exercise: Exercise, version: str, kind: WorkKind = WorkKind.MODULE) -> int:
    """Update the verdicts on this version of an exercise to its current points and defect numbers. Return how many.

    `version` is that of the exercise for submissions of this kind.
    """
    work = WORK[kind]
    key = f"points of {exercise.id}, version {version}{work.points_suffix}"
    points = as_json([[(each.id, each.points) for each in exercise.defects], exercise.numbers(), exercise.max_score()])
    stored = gradebook.row("SELECT value FROM settings WHERE key = ?", key)
    if stored is not None and stored["value"] == points:
        return 0
    with gradebook.transaction() as connection:
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, points))
        verdicts = connection.execute(AFFECTED, (exercise.id, version, kind)).fetchall()
        for verdict in verdicts:
            work.rescore(connection, exercise, verdict)
    return len(verdicts)
