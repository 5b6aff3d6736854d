"""Read the grades of a class row by row, so that memory stays flat, and the history of one student."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from grader.classroom.gradebook.connection import GradebookConnection
from grader.classroom.gradebook.rows import WorkKind, stored_verdict
from grader.classroom.gradebook.schema import ATTEMPTS
from grader.errors import UsageError
from grader.report.history import PastVerdict
from grader.spec.exercise_names import exercise_number
from grader.trap.result import Caught, TrapResult
from grader.verdict.verdict import Verdict

ABSENT = "absent"
"""The outcome of a student of the roster who handed in nothing."""

GRADES = f"""
    SELECT current.student AS student, coalesce(name, '') AS name, coalesce(class_group, '') AS "group",
        coalesce(columns, '{{}}') AS columns, current.exercise AS exercise, current.outcome AS outcome,
        current.score AS score, current.max_score AS max_score,
        (SELECT sum(points) FROM defects WHERE verdict = judged_in AND stretch) AS extra,
        (SELECT sum(max_points) FROM defects WHERE verdict = judged_in AND stretch) AS max_extra,
        ({ATTEMPTS.format("submission = newest.submission")}) AS attempts,
        current.submitted_at AS submitted_at, current.judged_at AS judged_at, coalesce(current.reason, '') AS reason,
        current.remark AS remark, current.file AS file,
        coalesce(json_extract(batches.options, '$.layout'), '') AS layout, current.verdict AS verdict, judged_in
    FROM current
    JOIN verdicts AS newest ON newest.id = current.verdict
    JOIN batches ON batches.id = newest.batch
    LEFT JOIN students ON students.student = current.student
    UNION ALL
    SELECT student, name, class_group, columns, exercise, ?1, NULL, NULL, NULL, NULL, 0,
        '', '', '', '', '', '', 0, 0
    FROM students CROSS JOIN (SELECT DISTINCT exercise FROM submissions) AS given
    WHERE is_enrolled AND NOT EXISTS (
        SELECT 1 FROM submissions AS own
        WHERE own.student = students.student AND own.exercise = given.exercise AND own.kind = '{WorkKind.MODULE}')
    UNION ALL
    SELECT submissions.student, coalesce(name, ''), coalesce(class_group, ''), coalesce(columns, '{{}}'),
        submissions.exercise, ?1, NULL, NULL, NULL, NULL, 0, '', '', '', '', '', '', 0, 0
    FROM submissions LEFT JOIN students ON students.student = submissions.student
    WHERE kind = '{WorkKind.TRAP}' AND NOT coalesce(is_enrolled, 0) AND NOT EXISTS (
        SELECT 1 FROM submissions AS own
        WHERE own.student = submissions.student AND own.exercise = submissions.exercise
            AND own.kind = '{WorkKind.MODULE}')
"""
TRAP = f"""(
    SELECT max(verdicts.id) FROM submissions JOIN verdicts ON submission = submissions.id
    WHERE submissions.student = grades.student AND submissions.exercise = grades.exercise AND kind = '{WorkKind.TRAP}')
"""
"""The newest verdict on the trap of a row of grades."""

IN_ORDER = f"""
    SELECT grades.*, coalesce(trapped.outcome, '') AS trap_outcome, trapped.score AS trap_score,
        trapped.max_score AS trap_max_score, traps.extra AS trap_extra, coalesce(trapped.file, '') AS trap_file,
        coalesce(json_extract(batches.options, '$.layout'), '') AS trap_layout,
        coalesce(trapped.shared_with, trapped.id, 0) AS trap_judged_in
    FROM ({GRADES}) AS grades
    LEFT JOIN verdicts AS trapped ON trapped.id = {TRAP}
    LEFT JOIN traps ON traps.verdict = coalesce(trapped.shared_with, trapped.id)
    LEFT JOIN batches ON batches.id = trapped.batch
    ORDER BY student, length(exercise), exercise
"""
DEFECTS = "SELECT defect, status FROM defects WHERE verdict = ? ORDER BY number"


class GradeRow(Struct, frozen=True, kw_only=True):
    """A student's grade for an exercise. Scores are None without a verdict; `extra` are the points of extras.

    `judged_in` is the verdict with the defects and checks: another verdict if this one is shared. The fields of the
    student's trap are empty if there is none.
    """

    student: str
    name: str
    group: str
    columns: dict[str, str]
    exercise: str
    outcome: str
    score: float | None
    max_score: float | None
    extra: float | None
    max_extra: float | None
    attempts: int
    submitted_at: str
    judged_at: str
    reason: str
    remark: str
    file: str
    layout: str
    verdict: int
    judged_in: int
    trap_outcome: str = ""
    trap_score: float | None = None
    trap_max_score: float | None = None
    trap_extra: float | None = None
    trap_file: str = ""
    trap_layout: str = ""
    trap_judged_in: int = 0


class TrapSummary(Struct, frozen=True, kw_only=True):
    """The traps of a class for one exercise: their number, their mean score, and who catches which defect."""

    traps: int
    mean: float | None
    max_score: float | None
    catches: list[tuple[int, bool, int]]
    """For each defect: its number, whether it is extra, and how many traps catch it alone."""


class ClassRecords(GradebookConnection):
    """A gradebook, open for reading."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raise `UsageError` if it is not a gradebook."""
        super().__init__(path, writes=False)

    def exercises(self) -> list[str]:
        """Return the exercises that have submissions, in the order of their numbers."""
        return sorted((row[0] for row in self.rows("SELECT DISTINCT exercise FROM submissions")), key=exercise_number)

    def students(self) -> list[str]:
        """Return the ids of all students who handed in something."""
        return [row[0] for row in self.rows("SELECT DISTINCT student FROM submissions ORDER BY 1")]

    def worth(self, exercise: str) -> tuple[float | None, bool]:
        """Return the exercise's maximum score, None if it has no verdicts, and whether it has extras."""
        points, has_extras = self.row(
            "SELECT max(max_score), EXISTS (SELECT 1 FROM current_defects WHERE exercise = ? AND stretch)"
            " FROM current WHERE exercise = ?",
            exercise,
            exercise,
        ) or (None, 0)
        return points, bool(has_extras)

    def grades(self) -> Iterator[GradeRow]:
        """Yield a row for each student and exercise, also for absent students of the roster, in order."""
        for row in self.rows(IN_ORDER, ABSENT):
            yield GradeRow(**{**row, "columns": msgspec.json.decode(row["columns"], type=dict[str, str])})

    def verdict(self, grade: GradeRow) -> Verdict:
        """Return the whole verdict of a grade, with long texts cut as the gradebook stores them."""
        about = self.row(
            "SELECT file, outcome, reason, score, max_score, seed, isolation, seconds, unloadable, near_miss"
            " FROM verdicts WHERE id = ?",
            grade.verdict,
        )
        assert about is not None  # a grade with a verdict is read from its row
        defects = self.rows(
            "SELECT defect AS id, status, points, max_points, stretch, reason FROM defects"
            " WHERE verdict = ? ORDER BY number",
            grade.judged_in,
        )
        checks = self.rows(
            "SELECT check_id, status, details, advice, explained_by, is_regression, seconds FROM checks"
            " WHERE verdict = ? ORDER BY number",
            grade.judged_in,
        )
        return stored_verdict(grade.exercise, about, list(defects), list(checks))

    def trap(self, grade: GradeRow) -> TrapResult | None:
        """Return the result of a student's trap; None if there is none."""
        row = self.row("SELECT result FROM traps WHERE verdict = ?", grade.trap_judged_in)
        return None if row is None else msgspec.json.decode(row["result"], type=TrapResult)

    def trap_summary(self, exercise: str) -> TrapSummary:
        """Return what the class's traps for an exercise catch."""
        about = self.row(
            "SELECT count(*), avg(score), max(max_score) FROM current_traps WHERE exercise = ? AND score IS NOT NULL",
            exercise,
        )
        assert about is not None  # an aggregate always has a row
        rows = self.rows(
            f"SELECT number, max(stretch), sum(caught = '{Caught.ALWAYS}') FROM current_traps"
            " JOIN trap_defects ON trap_defects.verdict = judged_in WHERE exercise = ? GROUP BY number ORDER BY number",
            exercise,
        )
        catches = [(row[0], bool(row[1]), row[2]) for row in rows]
        return TrapSummary(traps=about[0], mean=about[1], max_score=about[2], catches=catches)

    def defects(self, grade: GradeRow) -> list[tuple[str, str]]:
        """Return the id and the status of each defect."""
        return [(row[0], row[1]) for row in self.rows(DEFECTS, grade.judged_in)]

    def wrong_values(self, exercise: str, defect: str, most: int) -> list[tuple[str, int]]:
        """Return the most frequent findings about a defect that is still present, each with its number of students."""
        found = self.rows(
            "SELECT finding, count(DISTINCT student) AS students FROM current_checks"
            " WHERE exercise = ? AND finding <> ''"
            " AND EXISTS (SELECT 1 FROM json_each(explained_by) WHERE value = ?)"
            " GROUP BY finding ORDER BY students DESC, finding LIMIT ?",
            exercise,
            defect,
            most,
        )
        return [(row[0], row[1]) for row in found]

    def verdicts_by_day(self) -> list[tuple[str, int]]:
        """Return each day with its number of verdicts."""
        days = self.rows("SELECT substr(judged_at, 1, 10), count(*) FROM verdicts GROUP BY 1 ORDER BY 1")
        return [(row[0], row[1]) for row in days]

    def pseudonym_key(self) -> str:
        """Return the secret of this gradebook from which pseudonyms are made."""
        return self.secret("pseudonym_key")


STATEMENT = f"""
    SELECT submissions.exercise || iif(kind = '{WorkKind.TRAP}', ', trap', '') AS exercise,
        judged_at, outcome, score, max_score,
        coalesce(verdicts.reason, '') AS reason, digest, verdicts.seed AS seed,
        coalesce(regrades.reason, '') AS regraded_for
    FROM verdicts
    JOIN submissions ON submissions.id = submission
    LEFT JOIN regrades ON regrades.id = regrade
    WHERE submissions.student = ?
    ORDER BY length(submissions.exercise), submissions.exercise, kind, verdicts.id
"""


def student_history(gradebook: Path, student: str) -> list[PastVerdict]:
    """Return a student's verdicts by exercise, oldest first. `student` is an id or a full name."""
    with GradebookConnection(gradebook, writes=False) as book:
        named = [row[0] for row in book.rows("SELECT student FROM students WHERE name = ?", student)]
        for name in (student, *(named if len(named) == 1 else ())):
            found = [PastVerdict(**row) for row in book.rows(STATEMENT, name)]
            if found:
                return found
        if book.row("SELECT 1 FROM students WHERE student = ?", student) or len(named) == 1:
            return []
        if named:
            ids = ", ".join(sorted(named))
            raise UsageError(f"{len(named)} students are called {student!r}; give one of their ids: {ids}")
        raise UsageError(f"there is no student {student!r} in {gradebook}; export --to csv lists all students")
