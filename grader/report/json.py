"""A verdict as JSON, in the public format, which the records here define.

The docstrings of fields are the descriptions in the JSON Schema.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from grader.checks.outcome import Outcome, Status
from grader.report.findings import full_text, reason_with_finding
from grader.report.printable import printable
from grader.spec.schema import DIALECT, field_descriptions
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import FORMAT_VERSION, DefectVerdict, Result, Verdict

MAX_PATH = 4096
"""The longest path in characters; a longer one is cut."""


class DefectData(Struct, frozen=True, kw_only=True):
    """A defect of the exercise."""

    id: str
    """The defect's name. It gives the answer away, so do not show it to a student or a model."""
    number: int
    """The number by which students know the defect, from 1; 0 if it is not known."""
    status: DefectStatus
    """Whether the defect is fixed. `unknown` is never guessed."""
    points: float
    """The points earned."""
    max_points: float
    """The points for fixing it."""
    stretch: bool
    """Whether its points are extra, so that `score` and `max_score` exclude them."""
    reason: str
    """Why the status is unknown; empty if it is known."""


class CheckData(Struct, frozen=True, kw_only=True):
    """A check, and its finding."""

    id: str
    """The check's name."""
    status: Status
    """The result of the check."""
    finding: str
    """What was done, expected and observed, in one line; empty if the check passed."""
    advice: str
    """A recommendation that costs no points; empty if there is none."""
    seconds: Annotated[float, Meta(ge=0)]
    """Wall-clock time."""


class VerdictData(Struct, frozen=True, kw_only=True):
    """The verdict on one submission."""

    format_version: Annotated[int, Meta(ge=FORMAT_VERSION, le=FORMAT_VERSION)]
    """The version of this format."""
    exercise: str
    """The exercise's id."""
    file: str
    """The submission's name."""
    outcome: Result
    """`fixed`: every counted defect is fixed and nothing else is broken. `not_fixed`: not yet. `not_gradable`: no check
    could run, and the submission is the cause. `not_judged`: the kit could not judge; never count this as 0 points."""
    reason: str | None
    """Why no check could run; null if checks ran."""
    score: float | None
    """The points earned, without those of stretch defects; null if the submission was not judged."""
    max_score: float
    """The most points, without those of stretch defects."""
    seed: int
    """The seed of the random inputs. The same seed gives the same verdict."""
    defects: list[DefectData]
    """Every defect of the exercise."""
    regressions: list[str]
    """The ids of failed checks that no defect explains: the submission broke something else."""
    checks: list[CheckData]
    """Every check; its status is `not_run` if it did not run."""
    isolation: dict[str, bool]
    """Which protections held around the submission: process, filesystem, network, syscalls, memory."""
    seconds: Annotated[float, Meta(ge=0)]
    """Wall-clock time."""


RECORDS = (VerdictData, DefectData, CheckData)


def render_json(verdict: Verdict) -> str:
    """Return the verdict as one JSON object, without a line break at its end."""
    return msgspec.json.format(msgspec.json.encode(_as_data(verdict)), indent=1).decode()


def to_dict(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as the object that `--json` prints: plain dictionaries, lists, texts and numbers."""
    plain: dict[str, Any] = msgspec.to_builtins(_as_data(verdict), str_keys=True)
    return plain


def verdict_schema() -> dict[str, Any]:
    """Return the JSON Schema of a verdict, as `to_dict` and `--json` give it."""
    _, parts = msgspec.json.schema_components([VerdictData], ref_template="#/$defs/{name}")
    for record in RECORDS:
        part = parts[record.__name__]
        for key, description in field_descriptions(record).items():
            part["properties"][key]["description"] = " ".join(description.split())
    return {"$schema": DIALECT, **parts.pop("VerdictData"), "title": "verdict", "$defs": dict(sorted(parts.items()))}


def _as_data(verdict: Verdict) -> VerdictData:
    """Return the object of the public format."""
    return VerdictData(
        format_version=FORMAT_VERSION,
        exercise=verdict.exercise,
        file=printable(verdict.file, MAX_PATH),
        outcome=verdict.outcome,
        reason=None if verdict.reason is None else printable(verdict.reason),
        score=verdict.score,
        max_score=verdict.max_score,
        seed=verdict.seed,
        defects=[_defect(each, verdict) for each in verdict.defects],
        regressions=verdict.regressions,
        checks=[_check(outcome) for outcome in verdict.checks],
        isolation=verdict.isolation,
        seconds=round(verdict.seconds, 3),
    )


def _defect(defect: DefectVerdict, verdict: Verdict) -> DefectData:
    return DefectData(
        id=defect.id,
        number=defect.number,
        status=defect.status,
        points=defect.points,
        max_points=defect.max_points,
        stretch=defect.stretch,
        reason=reason_with_finding(defect.reason, verdict),
    )


def _check(outcome: Outcome) -> CheckData:
    return CheckData(
        id=outcome.check,
        status=outcome.status,
        finding=full_text(outcome.finding) if outcome.finding else "",
        advice=printable(outcome.advice),
        seconds=round(outcome.seconds, 4),
    )
