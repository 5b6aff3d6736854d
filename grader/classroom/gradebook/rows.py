"""What goes into a gradebook: records beside verdicts, a verdict's rows, and a checksum over all that it says."""

import hashlib
import sqlite3
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from grader.checks.outcome import Finding, Location, Outcome, SizeComparison, Status, parse_kind
from grader.report.findings import comparison_words, sentence
from grader.sandbox.text import cut
from grader.verdict.attribution import DefectStatus, Reason, UnknownReason
from grader.verdict.verdict import DefectVerdict, Result, Verdict

TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How times are written, in UTC."""


class Versions(Struct, frozen=True):
    """What a verdict depends on besides its submission."""

    kit: str
    torch: str
    exercise: str


class SubmissionRecord(Struct, frozen=True):
    """A submission as the gradebook records it; `digest` is that of its exact source, `fingerprint` its tree's.

    `submitted_at` is in UTC, or empty where the layout does not tell it.
    """

    student: str
    exercise: str
    file: str
    digest: str
    fingerprint: str = ""
    remark: str = ""
    submitted_at: str = ""


class SharedVerdict(Struct, frozen=True):
    """A recorded verdict that another submission may share; `is_bound` says that it holds for exact copies alone."""

    id: int
    is_bound: bool


class Student(Struct, frozen=True):
    """Who is known by name; `columns` are what else the roster says."""

    id: str
    name: str = ""
    group: str = ""
    columns: dict[str, str] = {}
    is_enrolled: bool = False


COLUMNS = (
    "id, submission, batch, file, digest, fingerprint, remark, exercise_version, kit, torch, outcome, score, max_score,"
    " reason, seen, seed, seconds, isolation, is_closed, is_bound, shared_with, judged_at, regrade"
)
CHECKSUMMED = (
    "SELECT student, exercise FROM submissions WHERE id = (SELECT submission FROM verdicts WHERE id = ?)",
    f"SELECT {COLUMNS} FROM verdicts WHERE id = ?",
    "SELECT * FROM defects WHERE verdict = ? ORDER BY number",
    "SELECT * FROM checks WHERE verdict = ? ORDER BY number",
)
"""What a verdict's checksum covers."""


def write_checksum(connection: sqlite3.Connection, verdict: int) -> None:
    """Write a verdict's checksum, in the transaction that wrote the verdict."""
    checksum = _checksum(connection, verdict)
    connection.execute("UPDATE verdicts SET checksum = ? WHERE id = ?", (checksum, verdict))


def check_pages(connection: sqlite3.Connection) -> None:
    """Raise SQLite's own error where the file's pages do not fit together."""
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        error = sqlite3.DatabaseError(found)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def damaged_verdicts(connection: sqlite3.Connection) -> set[int]:
    """The newest verdicts, and those that they share, that are not as they were recorded."""
    relied_on = connection.execute("SELECT verdict FROM current UNION SELECT seen_in FROM current").fetchall()
    return {verdict for (verdict,) in relied_on if not _is_intact(connection, verdict)}


def _is_intact(connection: sqlite3.Connection, verdict: int) -> bool:
    try:
        row = connection.execute("SELECT checksum FROM verdicts WHERE id = ?", (verdict,)).fetchone()
        return row is not None and row[0] == _checksum(connection, verdict)
    except sqlite3.OperationalError:  # bytes that are no text any more
        return False


def _checksum(connection: sqlite3.Connection, verdict: int) -> str:
    digest = hashlib.sha256()
    for statement in CHECKSUMMED:
        rows = connection.execute(statement, (verdict,)).fetchall()
        digest.update(msgspec.msgpack.encode(rows))
    return digest.hexdigest()


CLOSED_LAYERS = ("filesystem", "network")
"""What no submission may reach where a verdict is to be relied on."""

MOST_CHARACTERS = 4000
"""What is kept of a text that a submission made; a class has a hundred thousand, each with a dozen checks."""


def verdict_columns(verdict: Verdict) -> dict[str, Any]:
    """The columns that are the verdict's own."""
    isolation = verdict.isolation
    return {
        "outcome": verdict.outcome,
        "score": verdict.score,
        "max_score": verdict.max_score,
        "reason": None if verdict.reason is None else _bounded(verdict.reason),
        "seen": as_json(_seen(verdict.unloadable)),
        "seed": verdict.seed,
        "seconds": verdict.seconds,
        "isolation": as_json(isolation),
        "is_closed": all(isolation.get(layer, not isolation) for layer in CLOSED_LAYERS),
        "is_bound": _is_bound(verdict),
    }


def defect_rows(verdict: Verdict, numbers: Mapping[str, int]) -> list[tuple[Any, ...]]:
    """A row for each defect, the verdict's id aside; `numbers` are those by which students know them."""
    return [
        (numbers.get(d.id, number), d.id, d.status, d.points, d.max_points, d.stretch, _reason(d.reason))
        for number, d in enumerate(verdict.defects, 1)
    ]


def check_rows(verdict: Verdict) -> list[tuple[Any, ...]]:
    """A row for each check, the verdict's id aside."""
    return [(number, *_check(outcome, verdict)) for number, outcome in enumerate(verdict.checks)]


def as_json(value: Any) -> str | None:
    """The value as JSON; None stays None."""
    return None if value is None else msgspec.json.encode(value).decode()


def _check(outcome: Outcome, verdict: Verdict) -> tuple[Any, ...]:
    explained_by = verdict.causes.get(outcome.check)
    is_regression = outcome.check in verdict.regressions
    finding = _finding(outcome.finding)
    return (outcome.check, outcome.status, *finding, as_json(explained_by), is_regression, outcome.seconds)


def _finding(finding: Finding | None) -> tuple[str | None, ...]:
    if finding is None:
        return (None, None, None, None)
    sizes = comparison_words(finding.sizes) if finding.sizes else ""
    return (_bounded(finding.signature()), _bounded(sentence(finding)), _bounded(sizes), _location(finding))


def _location(finding: Finding) -> str | None:
    at = finding.location
    return None if at is None else as_json(structs.replace(at, label=_bounded(at.label), text=_bounded(at.text)))


def _seen(finding: Finding | None) -> dict[str, Any] | None:
    """What was seen of a submission that is not gradable."""
    if finding is None:
        return None
    kind, text, sizes, location = _finding(finding)
    return {"kind": kind, "text": text, "sizes": sizes, "location": msgspec.Raw((location or "null").encode())}


def _bounded(text: str) -> str:
    """A submission's text, or its beginning and how much of it is left out."""
    return cut(text, MOST_CHARACTERS)


def _is_bound(verdict: Verdict) -> bool:
    """Whether the verdict speaks of lines or of the file, so that it holds for exact copies alone."""
    lines = [outcome.finding.location for outcome in verdict.checks if outcome.finding is not None]
    return verdict.outcome is Result.NOT_GRADABLE or any(line is not None for line in lines)


def stored_verdict(
    exercise: str, about: tuple[Any, ...], defects: list[tuple[Any, ...]], checks: list[tuple[Any, ...]]
) -> Verdict:
    """The verdict that these rows were made from; pictures and what was printed are not kept."""
    file, outcome, reason, score, max_score, seed, isolation, seconds, seen = about
    return Verdict(
        exercise=exercise,
        file=file,
        outcome=Result(outcome),
        reason=reason,
        score=score,
        max_score=max_score,
        seed=seed,
        defects=[_stored_defect(*row[:6]) for row in defects],
        regressions=[row[0] for row in checks if row[7]],
        checks=[_stored_outcome(*row[:6], seconds=row[8]) for row in checks],
        isolation=msgspec.json.decode(isolation, type=dict[str, bool]),
        seconds=seconds,
        causes={row[0]: msgspec.json.decode(row[6], type=list[str]) for row in checks if row[6]},
        unloadable=_stored_unloadable(seen),
    )


def _stored_defect(
    name: str, status: str, points: float, max_points: float, stretch: int, reason: str
) -> DefectVerdict:
    return DefectVerdict(
        id=name,
        status=DefectStatus(status),
        points=points,
        max_points=max_points,
        stretch=bool(stretch),
        reason=_stored_reason(reason),
    )


def _stored_outcome(
    check: str, status: str, kind: str | None, text: str, sizes: str, location: str | None, *, seconds: float
) -> Outcome:
    finding = _stored_finding(kind, text, sizes, location)
    return Outcome(check=check, status=Status(status), finding=finding, seconds=seconds)


def _reason(reason: Reason | None) -> str:
    """Why a status is unknown, as it is stored: the kind, then the check that shows it."""
    return f"{reason.kind} {reason.check}".rstrip() if reason else ""


def _stored_reason(stored: str) -> Reason | None:
    """What `_reason` recorded."""
    kind, _, check = stored.partition(" ")
    return Reason(kind=UnknownReason(kind), check=check) if kind else None


def _stored_finding(kind: str | None, text: str, sizes: str, location: str | None) -> Finding | None:
    if kind is None:
        return None
    place = None if location in (None, "null") else msgspec.json.decode(location or "", type=Location)
    own_kind, detail = parse_kind(kind)
    return Finding(
        kind=own_kind,
        detail=detail,
        message=text,
        location=place,
        sizes=SizeComparison(message=sizes) if sizes else None,
    )


def _stored_unloadable(seen: str | None) -> Finding | None:
    """What `_seen` recorded."""
    if not seen:
        return None
    found = msgspec.json.decode(seen)
    return _stored_finding(found["kind"], found["text"], found["sizes"], as_json(found["location"]))


def time_text(seconds: float | None = None) -> str:
    """A time in seconds since the epoch, or else now, as it is written."""
    return time.strftime(TIME, time.gmtime(seconds))
