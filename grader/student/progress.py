"""What the kit remembers between runs, in the course's `.grader/`: last verdicts and the hints given."""

import contextlib
import math
import time
from pathlib import Path

import msgspec

from grader.checks.outcome import Status
from grader.report.findings import where_words
from grader.report.view import Attempt, Progress
from grader.spec.paths import Course, write_cache
from grader.submission.choice import is_edited
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict

MOST_ATTEMPTS = 200
"""Gradings that are remembered of one exercise."""


def load_progress(course: Course, exercise_id: str) -> Progress:
    """What is remembered; nothing where the file is missing or spoilt."""
    try:
        return msgspec.json.decode(_path(course, exercise_id).read_bytes(), type=Progress)
    except (OSError, msgspec.MsgspecError):
        return Progress()


def remember_verdict(course: Course, verdict: Verdict, *, is_attempt: bool = True) -> None:
    """Store the state that the list and the hints need. The state of the defects survives a file that cannot be
    graded.

    It counts as an attempt if the student requested a verdict, not for a hint or a report.
    """
    before = load_progress(course, verdict.exercise)
    progress = msgspec.structs.replace(
        before,
        outcome=verdict.outcome,
        score=verdict.score,
        max_score=verdict.max_score,
        attempts=[*before.attempts, *([_attempt(verdict)] if is_attempt else [])][-MOST_ATTEMPTS:],
    )
    if verdict.outcome is not Result.NOT_GRADABLE:
        progress = msgspec.structs.replace(
            progress,
            statuses={defect.id: defect.status for defect in verdict.defects},
            passed=sum(outcome.status is Status.PASSED for outcome in verdict.checks),
            checks=len(verdict.checks),
            first_seen={**before.first_seen, **first_seen(verdict)},
        )
    save_progress(course, verdict.exercise, progress)


def _attempt(verdict: Verdict) -> Attempt:
    fixed = sum(defect.status is DefectStatus.FIXED for defect in verdict.defects)
    return Attempt(time.time(), verdict.outcome, verdict.score, fixed, len(verdict.defects))


def first_seen(verdict: Verdict) -> dict[str, str]:
    """Return in words the smallest sizes at which each defect shows that explains a failed check."""
    found: dict[str, tuple[int, str]] = {}
    for outcome in verdict.checks:
        finding = outcome.finding
        if finding is not None and finding.size_case and finding.sizes is not None:
            shown = math.prod(finding.size_case.values()), where_words(finding.sizes)
            for defect in verdict.causes.get(outcome.check, []):
                found[defect] = min(found.get(defect, shown), shown)
    return {defect: words for defect, (_, words) in found.items()}


def last_worked_on(course: Course) -> str | None:
    """The exercise that was edited, graded or hinted at last; None where nothing was done yet."""
    times: list[tuple[float, str, Path | None]] = []
    for exercise_id in course.exercise_ids():
        for path, own in [
            (_path(course, exercise_id), None),
            *((own, own) for own in course.editable_files(exercise_id)),
        ]:
            with contextlib.suppress(OSError):
                times.append((path.stat().st_mtime, exercise_id, own))
    newest_first = sorted(times, key=lambda each: each[0], reverse=True)
    return next((each for _, each, own in newest_first if own is None or is_edited(course, own)), None)


def forget_progress(course: Course, exercise_id: str) -> None:
    """Whoever starts again is given the hints from the first one on."""
    save_progress(course, exercise_id, Progress())


def save_progress(course: Course, exercise_id: str, progress: Progress) -> None:
    """Write, whole or not at all; a course on a read-only disk simply forgets."""
    write_cache(_path(course, exercise_id), msgspec.json.format(msgspec.json.encode(progress), indent=1) + b"\n")


def _path(course: Course, exercise_id: str) -> Path:
    return course.state_folder() / "progress" / f"{exercise_id}.json"
