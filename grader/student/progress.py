"""What the kit remembers between runs, in the course's `.grader/`: last verdicts and the hints given."""

from pathlib import Path

import msgspec
from msgspec import Struct

from grader.course.paths import Course, write_whole
from grader.examiner.outcome import Status
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict


class Progress(Struct, frozen=True):
    """What is remembered of one exercise. `statuses`, `passed`, `checks`: of the last that could be graded."""

    outcome: Result | None = None
    score: float = 0.0
    max_score: float = 0.0
    statuses: dict[str, DefectStatus] = {}
    hints_given: dict[str, int] = {}
    passed: int = 0
    checks: int = 0


def load_progress(course: Course, exercise_id: str) -> Progress:
    """What is remembered; nothing where the file is missing or spoilt."""
    try:
        return msgspec.json.decode(_path(course, exercise_id).read_bytes(), type=Progress)
    except (OSError, msgspec.MsgspecError):
        return Progress()


def remember_verdict(course: Course, verdict: Verdict) -> None:
    """Keep what the list and the hints need; what could not be graded leaves what is known of the defects as it was."""
    progress = msgspec.structs.replace(
        load_progress(course, verdict.exercise),
        outcome=verdict.outcome,
        score=verdict.score,
        max_score=verdict.max_score,
    )
    if verdict.outcome is not Result.NOT_GRADABLE:
        progress = msgspec.structs.replace(
            progress,
            statuses={defect.id: defect.status for defect in verdict.defects},
            passed=sum(outcome.status is Status.PASSED for outcome in verdict.checks),
            checks=len(verdict.checks),
        )
    save_progress(course, verdict.exercise, progress)


def save_progress(course: Course, exercise_id: str, progress: Progress) -> None:
    """Write, whole or not at all; a course on a read-only disk simply forgets."""
    write_whole(_path(course, exercise_id), msgspec.json.format(msgspec.json.encode(progress), indent=1) + b"\n")


def _path(course: Course, exercise_id: str) -> Path:
    return course.state_folder() / "progress" / f"{exercise_id}.json"
