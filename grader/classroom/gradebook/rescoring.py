"""Update recorded verdicts to the points and defect numbers that an exercise has now."""

from sqlite3 import Connection, Row
from typing import Any

import msgspec

from grader.classroom.gradebook.rows import trap_defect_rows, trap_result_columns, trap_verdict_columns
from grader.spec.exercise import Exercise
from grader.trap import counting
from grader.trap.result import TrapResult
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, points_of, score_of


def rescore_module(connection: Connection, exercise: Exercise, verdict: Row) -> None:
    """Update the score of a module's verdict, and its defects' points if it has defects of its own."""
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


def rescore_trap(connection: Connection, exercise: Exercise, verdict: Row) -> None:
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
