"""A student's progress in each exercise, stored in the course's `.grader/`.

It contains the last verdict, the attempts and the best one, the hints given so far, claims, the answers in `guide`, and
the number of runs of the trap.
"""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.checks.outcome import Status
from grader.report.causes import group_causes
from grader.report.findings import where_words
from grader.report.phrases import shown_defects
from grader.report.progress import Attempt, Progress
from grader.spec.files import read_cache, write_cache
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission.choice import is_edited
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict

MAX_ATTEMPTS = 200
"""The most attempts that are stored for one exercise; older ones are dropped."""


def load_progress(course: Course, exercise_id: str) -> Progress:
    """Return the stored progress; an empty one if the file is missing or invalid."""
    try:
        return msgspec.json.decode(read_cache(_path(course, exercise_id)), type=Progress)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return Progress()


def remember_verdict(course: Course, verdict: Verdict, *, is_attempt: bool = True) -> None:
    """Store the result, the best result so far and, if the file was gradable, the state of the defects.

    `is_attempt` is true if the student asked for a verdict, and false if a hint or a report needed one.
    """
    before, attempt = load_progress(course, verdict.exercise), _attempt(verdict)
    progress = msgspec.structs.replace(
        before,
        outcome=verdict.outcome,
        score=verdict.judged_score(),
        max_score=verdict.max_score,
        attempts=[*before.attempts, *([attempt] if is_attempt else [])][-MAX_ATTEMPTS:],
        best=max(filter(None, (before.best, attempt)), key=Attempt.rank),
    )
    if is_attempt and verdict.was_checked():
        progress = msgspec.structs.replace(progress, seed=verdict.seed)
    if verdict.outcome is not Result.NOT_GRADABLE:
        progress = msgspec.structs.replace(
            progress,
            statuses={defect.id: defect.status for defect in verdict.defects},
            passed=sum(outcome.status is Status.PASSED for outcome in verdict.checks),
            checks=len(verdict.checks),
            failing_sizes={**before.failing_sizes, **failing_sizes(verdict)},
            listed=_listed(course, verdict, before),
        )
    save_progress(course, verdict.exercise, progress)


def _listed(course: Course, verdict: Verdict, before: Progress) -> list[str]:
    """Return the defects that some page has listed, this verdict's included."""
    exercise = load_exercise(course.description(verdict.exercise))
    return [each.id for each in shown_defects(verdict, exercise, before.listed)]


def _attempt(verdict: Verdict) -> Attempt:
    fixed = [defect for defect in verdict.defects if defect.status is DefectStatus.FIXED]
    return Attempt(
        at=time.time(),
        outcome=verdict.outcome,
        score=verdict.judged_score(),
        fixed=sum(not defect.stretch for defect in fixed),
        defects=sum(not defect.stretch for defect in verdict.defects),
        extras=sum(defect.stretch for defect in fixed),
        broken=len(verdict.regressions),
    )


def failing_sizes(verdict: Verdict) -> dict[str, str]:
    """Map each defect that alone explains a finding to the failing sizes of its first finding, in words."""
    found: dict[str, str] = {}
    for cause in group_causes(verdict):
        if len(cause.defects) == 1 and cause.finding.sizes is not None:
            found.setdefault(cause.defects[0], where_words(cause.finding.sizes))
    return found


def last_worked_on(course: Course) -> str | None:
    """Return the exercise that was last edited, graded or hinted at; None if there is none."""
    newest_first = sorted(_changes(course), key=lambda each: each[0], reverse=True)
    return next((exercise_id for _, exercise_id, file in newest_first if file is None or is_edited(course, file)), None)


def _changes(course: Course) -> Iterator[tuple[float, str, Path | None]]:
    """Yield the time of the last change of each progress file and editable file, its exercise, and an editable path."""
    for exercise_id in course.exercise_ids():
        with contextlib.suppress(OSError):
            yield _path(course, exercise_id).stat().st_mtime, exercise_id, None
        for file in course.editable_files(exercise_id):
            with contextlib.suppress(OSError):
                yield file.stat().st_mtime, exercise_id, file


def forget_progress(course: Course, exercise_id: str) -> None:
    """Replace the stored progress by an empty one, so that hints start with the first step."""
    save_progress(course, exercise_id, Progress())


def save_progress(course: Course, exercise_id: str, progress: Progress) -> None:
    """Store the progress atomically. On a read-only disk, do nothing."""
    write_cache(_path(course, exercise_id), msgspec.json.format(msgspec.json.encode(progress), indent=1) + b"\n")


def _path(course: Course, exercise_id: str) -> Path:
    return course.state_folder() / "progress" / f"{exercise_id}.json"
