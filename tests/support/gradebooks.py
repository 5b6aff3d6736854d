"""Verdicts made by hand, and the rows of a gradebook, for tests of gradebooks and batches."""

import sqlite3
from pathlib import Path
from typing import Any

from grader.checks.outcome import FailureKind, Finding, Location, Outcome, SizeComparison, Status
from grader.classroom.gradebook import SubmissionRecord, Versions
from grader.verdict.attribution import DefectStatus, Reason, UnknownReason
from grader.verdict.verdict import DefectVerdict, Result, Verdict

VERSIONS = Versions(kit="0.1.0+kit", torch="2.13.0", exercise="one")
CLOSED = {"process": True, "filesystem": True, "network": True, "syscalls": True, "memory": True}
OF_THE_RUN = {"id", "verdict", "judged_in", "submission", "batch", "judged_at", "seconds"}
"""Columns about the time and order of judging, which differ between equal gradebooks."""


def submission(student: str = "ada", digest: str = "d1", exercise: str = "exercise_03") -> SubmissionRecord:
    return SubmissionRecord(
        student=student,
        exercise=exercise,
        file=f"{student}/{exercise}/attention.py",
        digest=digest,
        remark="a remark",
    )


def verdict(**changes: Any) -> Verdict:
    """Return a verdict with everything that a gradebook stores."""
    fields: dict[str, Any] = {
        "exercise": "exercise_03",
        "file": "ada/exercise_03/attention.py",
        "outcome": Result.NOT_FIXED,
        "reason": None,
        "score": 3.5,
        "max_score": 10.0,
        "seed": 5,
        "defects": [
            DefectVerdict(id="mask", status=DefectStatus.FIXED, points=3.5, max_points=3.5, stretch=False),
            DefectVerdict(
                id="long",
                status=DefectStatus.UNKNOWN,
                points=0.0,
                max_points=1.0,
                stretch=True,
                reason=Reason(kind=UnknownReason.FAILS_DIFFERENTLY, check="shape"),
            ),
        ],
        "regressions": ["shape"],
        "checks": [
            Outcome(check="values", status=Status.PASSED, finding=None, seconds=0.25),
            Outcome(
                check="shape",
                status=Status.FAILED,
                finding=Finding(
                    kind=FailureKind.SHAPE,
                    message="expected (2, 3), saw (3, 2)",
                    location=None,
                    sizes=SizeComparison(failed={"heads": 2}, passed={"heads": 1}),
                ),
            ),
        ],
        "isolation": CLOSED,
        "seconds": 0.75,
        "causes": {"shape": ["long"]},
    }
    return Verdict(**(fields | changes))


def crash() -> Outcome:
    """Return an outcome that names a line of the submission."""
    return Outcome(
        check="values",
        status=Status.CRASHED,
        finding=Finding(
            kind=FailureKind.CRASH, message="boom", location=Location(label="attention.py", line=7, text="boom()")
        ),
        seconds=0.1,
    )


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    """Return the rows that a statement selects."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def content(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything in the gradebook except ids, times and the order of judging."""
    newest = "max(id) FROM verdicts GROUP BY submission"
    return {
        "submissions": rows(path, "SELECT student, exercise FROM submissions ORDER BY 1, 2"),
        "verdicts": rows(path, f"SELECT {_columns(path, 'current')} FROM current ORDER BY student, exercise"),
        "defects": rows(path, "SELECT * FROM current_defects ORDER BY student, exercise, defect"),
        "checks": rows(path, f"SELECT {_columns(path, 'current_checks')} FROM current_checks ORDER BY 1, 2, 3"),
        "history": rows(path, f"SELECT count(*) FROM verdicts WHERE id NOT IN (SELECT {newest})"),
        "plain": rows(path, f"SELECT {_columns(path, 'verdicts', 'shared_with')} FROM verdicts ORDER BY file, digest"),
        "held": rows(path, "SELECT count(*) FROM checks UNION ALL SELECT count(*) FROM defects"),
    }


def _columns(path: Path, table: str, *others: str) -> str:
    names = [row[1] for row in rows(path, f"PRAGMA table_info({table})")]
    return ", ".join(name for name in names if name not in OF_THE_RUN and name not in others)
