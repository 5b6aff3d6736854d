"""The contents of a gradebook: records of students and submissions, and the rows of a verdict."""

import sqlite3
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from sqlite3 import Row
from typing import Any

import msgspec
from msgspec import Struct, structs

from grader.checks.outcome import Finding, Outcome, Status
from grader.report.findings import sentence
from grader.sandbox.text import cut
from grader.trap.result import TrapResult
from grader.verdict.attribution import DefectStatus, Reason
from grader.verdict.verdict import DefectVerdict, Result, Verdict

TIME = "%Y-%m-%dT%H:%M:%SZ"
"""The format of times, which are in UTC."""

EPOCH = 1970
"""The earliest year of a valid time."""


class Versions(Struct, frozen=True, kw_only=True):
    """Everything that a verdict depends on besides the submission."""

    kit: str
    torch: str
    exercise: str


class WorkKind(StrEnum):
    """What a student hands in for an exercise; each kind has verdicts of its own."""

    MODULE = "module"
    TRAP = "trap"


class SubmissionRecord(Struct, frozen=True, kw_only=True):
    """A submission as the gradebook stores it: `digest` is of its exact source.

    `submitted_at` is in UTC, or empty if the layout does not have it.
    """

    student: str
    exercise: str
    file: str
    digest: str
    remark: str = ""
    submitted_at: str = ""
    kind: WorkKind = WorkKind.MODULE


class Student(Struct, frozen=True, kw_only=True):
    """A student with a known name; `columns` are the roster's other columns."""

    id: str
    name: str = ""
    group: str = ""
    columns: dict[str, str] = {}
    is_enrolled: bool = False


class Regrade(Struct, frozen=True, kw_only=True):
    """A regrade of submissions. It cancelled their verdicts up to the one with the id `after_verdict`."""

    id: int | None = None
    after_verdict: int = 0


def check_pages(connection: sqlite3.Connection) -> None:
    """Raise SQLite's own error if the file is damaged."""
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        error = sqlite3.DatabaseError(found)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


CLOSED_LAYERS = ("filesystem", "network")
"""The protections that a reliable verdict requires."""

MAX_CHARACTERS = 4000
"""The most characters that are stored of a submission's text. A class may have 100,000 submissions with 12 checks each.
"""


def verdict_columns(verdict: Verdict) -> dict[str, Any]:
    """Return the columns that come from the verdict."""
    return {
        "outcome": verdict.outcome,
        "score": verdict.score,
        "max_score": verdict.max_score,
        "reason": None if verdict.reason is None else _bounded(verdict.reason),
        "unloadable": _as_details(verdict.unloadable),
        "near_miss": verdict.near_miss,
        "seed": verdict.seed,
        "seconds": verdict.seconds,
        **_isolation_columns(verdict.isolation),
    }


def _isolation_columns(isolation: Mapping[str, bool]) -> dict[str, Any]:
    return {
        "isolation": as_json(isolation),
        "is_closed": all(isolation.get(layer, not isolation) for layer in CLOSED_LAYERS),
    }


def trap_verdict_columns(result: TrapResult) -> dict[str, Any]:
    """Return the columns of a trap's verdict."""
    return {
        "outcome": result.outcome(),
        "score": result.score,
        "max_score": result.max_score,
        "reason": _bounded(result.problem) if result.problem else None,
        "seed": result.seed,
        "seconds": result.seconds,
        **_isolation_columns(result.isolation),
    }


def trap_result_columns(result: TrapResult) -> dict[str, Any]:
    """Return the columns of a trap's result."""
    return {"extra": result.extra, "depends_on_time": result.depends_on_time(), "result": as_json(result)}


def trap_defect_rows(result: TrapResult) -> list[dict[str, Any]]:
    """Return the columns of each defect that a trap should catch."""
    return [
        {
            "number": each.number,
            "caught": each.caught,
            "points": each.points,
            "max_points": each.max_points,
            "stretch": each.stretch,
        }
        for each in result.defects
    ]


def defect_rows(verdict: Verdict, numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the columns of each defect. `numbers` are those by which students know the defects."""
    return [
        {
            "number": numbers.get(defect.id, place),
            "defect": defect.id,
            "status": defect.status,
            "points": defect.points,
            "max_points": defect.max_points,
            "stretch": defect.stretch,
            "reason": as_json(defect.reason),
        }
        for place, defect in enumerate(verdict.defects, 1)
    ]


def check_rows(verdict: Verdict) -> list[dict[str, Any]]:
    """Return the columns of each check."""
    return [
        {
            "number": number,
            "check_id": outcome.check,
            "status": outcome.status,
            "finding": None if outcome.finding is None else _bounded(sentence(outcome.finding)),
            "details": _as_details(outcome.finding),
            "advice": _bounded(outcome.advice),
            "explained_by": as_json(verdict.causes.get(outcome.check)),
            "is_regression": outcome.check in verdict.regressions,
            "seconds": outcome.seconds,
        }
        for number, outcome in enumerate(verdict.checks)
    ]


def as_json(value: Any) -> str | None:
    """Return the value as JSON; None stays None."""
    return None if value is None else msgspec.json.encode(value).decode()


def _as_details(finding: Finding | None) -> str | None:
    """Return a finding as JSON, without its picture and the printed lines. Long texts are cut."""
    if finding is None:
        return None
    return as_json(_with_bounded_texts(msgspec.to_builtins(structs.replace(finding, picture=None, printed=""))))


def _with_bounded_texts(value: Any) -> Any:
    if isinstance(value, str):
        return _bounded(value)
    if isinstance(value, dict):
        return {key: _with_bounded_texts(each) for key, each in value.items()}
    return [_with_bounded_texts(each) for each in value] if isinstance(value, list) else value


def _stored_finding(details: str | None) -> Finding | None:
    return None if details is None else msgspec.json.decode(details, type=Finding)


def _bounded(text: str) -> str:
    """Return a submission's text. If it is too long, return its beginning and the number of omitted characters."""
    return cut(text, MAX_CHARACTERS)


def stored_verdict(exercise: str, about: Row, defects: list[Row], checks: list[Row]) -> Verdict:
    """Return the verdict from which these rows were made, without pictures and output, which are not stored."""
    return Verdict(
        exercise=exercise,
        file=about["file"],
        outcome=Result(about["outcome"]),
        reason=about["reason"],
        score=about["score"],
        max_score=about["max_score"],
        seed=about["seed"],
        defects=[
            DefectVerdict(
                **{
                    **row,
                    "status": DefectStatus(row["status"]),
                    "stretch": bool(row["stretch"]),
                    "reason": _stored_reason(row["reason"]),
                }
            )
            for row in defects
        ],
        regressions=[row["check_id"] for row in checks if row["is_regression"]],
        checks=[
            Outcome(
                check=row["check_id"],
                status=Status(row["status"]),
                finding=_stored_finding(row["details"]),
                advice=row["advice"],
                seconds=row["seconds"],
            )
            for row in checks
        ],
        isolation=msgspec.json.decode(about["isolation"], type=dict[str, bool]),
        seconds=about["seconds"],
        causes={
            row["check_id"]: msgspec.json.decode(row["explained_by"], type=list[str])
            for row in checks
            if row["explained_by"]
        },
        unloadable=_stored_finding(about["unloadable"]),
        near_miss=about["near_miss"],
    )


def _stored_reason(stored: str | None) -> Reason | None:
    return None if stored is None else msgspec.json.decode(stored, type=Reason)


def time_text() -> str:
    """Return the current time in the gradebook's format."""
    return time.strftime(TIME, time.gmtime())


def written_time(moment: datetime | float | str) -> str:
    """Return a time in the gradebook's format: of a datetime, of seconds since the epoch, or of text in ISO 8601.

    A time without a zone is in UTC. Return an empty text if the value is not a time between 1970 and 9999; students'
    files may contain anything.
    """
    try:
        if isinstance(moment, str):
            moment = datetime.fromisoformat(moment)
        elif not isinstance(moment, datetime):
            moment = datetime.fromtimestamp(moment, UTC)
        utc = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return utc.strftime(TIME) if utc.year >= EPOCH else ""
