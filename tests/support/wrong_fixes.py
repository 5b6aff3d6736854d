"""The wrong fixes of the corpus, and the comparison of their verdicts with their entries."""

from grader.evaluation.audit.counting import expected_statuses
from grader.spec.paths import Course
from grader.spec.wrong_fixes import Expectation, load_wrong_fixes
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict


def wrong_fix(course: Course, exercise_id: str, name: str) -> str:
    """Return the text of one wrong fix."""
    return next(fix.text for fix in load_wrong_fixes(course, exercise_id) if fix.name == name)


def is_refused(verdict: Verdict, expect: Expectation) -> bool:
    """Return whether the verdict finds a fault and, unless only extra points are lost, refuses full marks."""
    if {defect.status for defect in verdict.defects} == {DefectStatus.FIXED} and not verdict.regressions:
        return False
    return expect.extra_only or (verdict.outcome is Result.NOT_FIXED and verdict.score < verdict.max_score)


def differences(verdict: Verdict, expect: Expectation) -> list[str]:
    """Return a sentence for each way in which the verdict differs from the expectation."""
    statuses = {defect.id: defect.status for defect in verdict.defects}
    found = []
    if not is_refused(verdict, expect):
        found.append(f"refused too little: {verdict.outcome}, {verdict.score:g} points, {verdict.reason}")
    for defect, right in expected_statuses(expect).items():
        if statuses[defect] not in right:
            found.append(f"{defect} is {statuses[defect]}, expected {' or '.join(sorted(right))}")
    if missing := {*(expect.broken or ())} - {*verdict.regressions}:
        found.append(f"{sorted(missing)} not among the regressions {verdict.regressions}")
    if expect.broken == [] and verdict.regressions:
        found.append(f"regressions {verdict.regressions}, expected none")
    return found
