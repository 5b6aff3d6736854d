"""A regrade: verdicts put out of force, and the submissions that they were about."""

from pathlib import Path

import msgspec
from msgspec import Struct, structs

from grader.classroom.gradebook import Gradebook
from grader.classroom.gradebook.rows import as_json, write_checksum
from grader.classroom.layouts.opening import LayoutOptions
from grader.errors import UsageError
from grader.spec.exercise import Exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict, score_of


class RecordedBatch(Struct, frozen=True):
    """What a regrade takes from a batch: how submissions lie, and whether those that are alike share a verdict."""

    options: LayoutOptions = LayoutOptions()
    shares: bool = True


class RegradeRequest(Struct, frozen=True):
    """How many submissions are to be judged again, and for each batch that they came with where they lie and how."""

    count: int
    batches: list[tuple[Path, RecordedBatch]]


def request_regrade(
    gradebook: Path, exercise: str, student: str | None, reason: str, submissions: Path | None
) -> RegradeRequest:
    """Put verdicts out of force, so that the next batch judges again what they were about.

    The submissions lie where they lay when they were judged, unless their place is named. `UsageError` where they are
    not there any more, or there is no such verdict; nothing is changed then.
    """
    if not gradebook.is_file():
        raise UsageError(f"there is no gradebook {gradebook}; name the file that batch was given")
    with Gradebook(gradebook) as book:
        found = book.rows(
            "SELECT batches.submissions, options FROM current JOIN verdicts ON verdicts.id = verdict JOIN batches"
            " ON batches.id = batch WHERE exercise = ? AND student = coalesce(?, student) ORDER BY batches.id",
            exercise,
            student,
        )
        places = {Path(where): msgspec.json.decode(options, type=RecordedBatch) for where, options in found}
        if submissions is not None:
            places = {submissions: next(reversed(places.values()), RecordedBatch())}
        for path in places:
            if not path.exists():
                raise UsageError(f"the submissions are not in {path} any more; name their place with --submissions")
        return RegradeRequest(book.request_regrade(exercise, student, reason), list(places.items()))


AFFECTED = (
    "SELECT verdicts.id FROM verdicts JOIN submissions ON submissions.id = submission"
    " WHERE exercise = ? AND exercise_version = ?"
)


def with_points(verdict: Verdict, exercise: Exercise) -> Verdict:
    """The verdict with the points of this description: where it was made, they may have been others."""
    worth = {defect.id: defect.points for defect in exercise.defects}
    defects = [
        structs.replace(
            defect,
            points=worth[defect.id] if defect.status is DefectStatus.FIXED else 0.0,
            max_points=worth[defect.id],
        )
        for defect in verdict.defects
    ]
    statuses = {defect.id: defect.status for defect in defects}
    score = score_of(exercise, statuses, is_whole=verdict.outcome is Result.FIXED)
    return structs.replace(verdict, defects=defects, score=score, max_score=exercise.max_score())


def rescore(gradebook: Gradebook, exercise: Exercise, version: str) -> int:
    """Bring the verdicts of this version of an exercise to its points, and its defects to their numbers; how many."""
    key = f"points of {exercise.id}, version {version}"
    defects = [(defect.id, defect.points) for defect in exercise.defects]
    numbers = exercise.numbers()
    points = as_json([defects, numbers, exercise.nothing_else_broke])
    if gradebook.row("SELECT value FROM settings WHERE key = ?", key) == (points,):
        return 0
    about = (exercise.id, version)
    with gradebook.transaction() as connection:
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, points))
        verdicts = [verdict for (verdict,) in connection.execute(AFFECTED, about)]
        connection.execute(f"UPDATE defects SET number = -number WHERE verdict IN ({AFFECTED})", about)
        for defect, worth in defects:
            connection.execute(
                "UPDATE defects SET number = ?, max_points = ?, points = CASE status WHEN ? THEN ? ELSE 0 END"
                f" WHERE defect = ? AND verdict IN ({AFFECTED})",
                (numbers[defect], worth, DefectStatus.FIXED, worth, defect, *about),
            )
        connection.execute(
            "UPDATE verdicts SET max_score = ?, score = CASE outcome WHEN ? THEN ? ELSE 0 END + (SELECT"
            " coalesce(sum(points), 0) FROM defects WHERE verdict = coalesce(shared_with, verdicts.id) AND NOT stretch)"
            f" WHERE score IS NOT NULL AND id IN ({AFFECTED})",
            (exercise.max_score(), Result.FIXED, exercise.nothing_else_broke, *about),
        )
        for verdict in set(verdicts) - gradebook.damaged:
            write_checksum(connection, verdict)
    return len(verdicts)
