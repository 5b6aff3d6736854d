"""Regrade submissions, and update scores when the points of an exercise change."""

from pathlib import Path
from sqlite3 import Connection, Row
from typing import Any

import msgspec
from msgspec import Struct

from grader.classroom.gradebook import Gradebook, WorkKind
from grader.classroom.gradebook.rows import as_json, trap_defect_rows, trap_result_columns, trap_verdict_columns
from grader.classroom.opening import LayoutOptions
from grader.errors import UsageError
from grader.spec.exercise import Exercise
from grader.trap import counting
from grader.trap.result import TrapResult
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, points_of, score_of


class RecordedBatch(Struct, frozen=True, kw_only=True):
    """Options of a batch that a regrade keeps: the layout, and whether similar submissions share a verdict."""

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
    key = f"points of {exercise.id}, version {version}" + (", traps" if kind is WorkKind.TRAP else "")
    points = as_json([[(each.id, each.points) for each in exercise.defects], exercise.numbers(), exercise.max_score()])
    stored = gradebook.row("SELECT value FROM settings WHERE key = ?", key)
    if stored is not None and stored["value"] == points:
        return 0
    with gradebook.transaction() as connection:
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, points))
        verdicts = connection.execute(AFFECTED, (exercise.id, version, kind)).fetchall()
        update = _rescore_trap if kind is WorkKind.TRAP else _rescore_verdict
        for verdict in verdicts:
            update(connection, exercise, verdict)
    return len(verdicts)


def _rescore_trap(connection: Connection, exercise: Exercise, verdict: Row) -> None:
    """Update the result of one trap."""
    found = connection.execute("SELECT result FROM traps WHERE verdict = ?", (verdict["judged_in"],)).fetchone()
    if found is None:
        return  # it was not judged
    result = counting.with_points(msgspec.json.decode(found["result"], type=TrapResult), exercise)
    _update(connection, "verdicts", "id", verdict["id"], trap_verdict_columns(result), ("score", "max_score"))
    if verdict["id"] == verdict["judged_in"]:
        _update(connection, "traps", "verdict", verdict["id"], trap_result_columns(result), ("extra", "result"))
        for row in trap_defect_rows(result):
            connection.execute(
                "UPDATE trap_defects SET points = ?, max_points = ? WHERE verdict = ? AND number = ?",
                (row["points"], row["max_points"], verdict["id"], row["number"]),
            )


def _update(
    connection: Connection, table: str, key: str, row: int, columns: dict[str, Any], names: tuple[str, ...]
) -> None:
    """Set the named columns of one row."""
    assignments = ", ".join(f"{name} = ?" for name in names)
    connection.execute(f"UPDATE {table} SET {assignments} WHERE {key} = ?", (*(columns[name] for name in names), row))


def _rescore_verdict(connection: Connection, exercise: Exercise, verdict: Row) -> None:
    """Update one verdict's score, and its defects' points if it has defects of its own."""
    described, numbers = {defect.id: defect for defect in exercise.defects}, exercise.numbers()
    found = connection.execute("SELECT defect, status FROM defects WHERE verdict = ?", (verdict["judged_in"],))
    statuses = {row["defect"]: DefectStatus(row["status"]) for row in found}
    if verdict["score"] is not None:
        score = score_of(exercise, statuses, is_fixed=verdict["outcome"] == Result.FIXED)
        values = (score, exercise.max_score(), verdict["id"])
        connection.execute("UPDATE verdicts SET score = ?, max_score = ? WHERE id = ?", values)
    connection.execute("UPDATE defects SET number = -number WHERE verdict = ?", (verdict["id"],))
    for defect_id, status in statuses.items():
        if defect := described.get(defect_id):
            connection.execute(
                "UPDATE defects SET number = ?, max_points = ?, points = ? WHERE verdict = ? AND defect = ?",
                (numbers[defect.id], defect.points, points_of(defect, status), verdict["id"], defect.id),
            )
