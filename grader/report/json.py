"""A verdict as JSON, in the format that is promised to other programs."""

import msgspec

from grader.checks.outcome import Outcome
from grader.report.console import printable
from grader.report.findings import full_text, reason_with_finding
from grader.verdict.verdict import FORMAT_VERSION, Verdict

MOST_PATH = 4096
"""The longest path in characters; a longer one is cut."""


def render_json(verdict: Verdict) -> str:
    """Return the verdict as one JSON object, without a line break at its end."""
    return msgspec.json.format(msgspec.json.encode(_as_data(verdict)), indent=1).decode()


def _as_data(verdict: Verdict) -> dict[str, object]:
    """Return the promised object as plain data."""
    return {
        "format_version": FORMAT_VERSION,
        "exercise": verdict.exercise,
        "file": printable(verdict.file, MOST_PATH),
        "outcome": verdict.outcome,
        "reason": None if verdict.reason is None else printable(verdict.reason),
        "score": verdict.score,
        "max_score": verdict.max_score,
        "seed": verdict.seed,
        "defects": [
            {**msgspec.structs.asdict(each), "reason": reason_with_finding(each.reason, verdict)}
            for each in verdict.defects
        ],
        "regressions": verdict.regressions,
        "checks": [_check(outcome) for outcome in verdict.checks],
        "isolation": verdict.isolation,
        "seconds": round(verdict.seconds, 3),
    }


def _check(outcome: Outcome) -> dict[str, object]:
    advice = f"advice, which costs nothing: {printable(outcome.advice)}" if outcome.advice else ""
    return {
        "id": outcome.check,
        "status": outcome.status,
        "finding": advice if outcome.finding is None else full_text(outcome.finding),
        "seconds": round(outcome.seconds, 4),
    }
