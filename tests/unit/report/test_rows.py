"""The rows of the table at the top of a page."""

from grader.report.phrases import regression_row
from grader.spec.loading import load_exercise
from grader.verdict.verdict import Verdict
from tests.support.gradebooks import verdict


def state_of(course, verdict: Verdict) -> str:
    return regression_row(verdict, load_exercise(course.description(verdict.exercise))).state


def test_nothing_else_broke_only_if_no_failure_is_left_unexplained(course):
    unexplained = verdict(regressions=[])
    assert state_of(course, unexplained) == "can't tell yet whether anything else broke"
    assert state_of(course, verdict(regressions=[], defects=unexplained.defects[:1])) == "nothing else broke so far"
    assert state_of(course, verdict()) == "something else broke"
