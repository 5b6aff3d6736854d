"""Claims: a student claims that nothing is wrong with an exercise, and names the line that looked wrong.

Some starters look wrong and are right. Every check passes on such a starter, so the points and the explanation are
withheld until the student has claimed that nothing is wrong.
"""

import time

from msgspec import structs

from grader.report.progress import Claim
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.student.progress import load_progress, save_progress
from grader.verdict.verdict import Result, Verdict


def withhold(course: Course, exercise: Exercise, verdict: Verdict) -> Verdict:
    """Return the verdict as the student sees it: a right starter earns nothing until the student has claimed that
    nothing is wrong.
    """
    if exercise.defects or verdict.outcome is not Result.FIXED:
        return verdict
    progress = load_progress(course, exercise.id)
    if progress.is_solved() or any(claim.is_right for claim in progress.claims):
        return verdict
    return structs.replace(verdict, outcome=Result.NOT_FIXED, score=0.0)


def record_claim(course: Course, exercise: Exercise, verdict: Verdict, line: int) -> Claim:
    """Store and return the claim that nothing is wrong; the full `verdict` decides whether it is right."""
    claim = Claim(at=time.time(), line=line, is_right=verdict.outcome is Result.FIXED)
    progress = load_progress(course, exercise.id)
    save_progress(course, exercise.id, structs.replace(progress, claims=[*progress.claims, claim]))
    return claim
