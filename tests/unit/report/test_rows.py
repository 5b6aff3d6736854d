"""The rows of the table at the top of a page."""

from msgspec import structs

from grader.report.view import view_of
from grader.spec.loading import load_exercise
from grader.verdict.verdict import Verdict
from tests.support.gradebooks import verdict


def state_of(course, verdict: Verdict) -> str:
    """Return the state in the last row, with the ids of the exercise's own defects in place of the made-up ones."""
    exercise = load_exercise(course.description(verdict.exercise))
    ids = dict(zip(("mask", "long"), (each.id for each in exercise.defects), strict=True))
    defects = [structs.replace(each, id=ids[each.id]) for each in verdict.defects]
    causes = {check: [ids[each] for each in found] for check, found in verdict.causes.items()}
    last = view_of(structs.replace(verdict, defects=defects, causes=causes), exercise).everything_else
    assert last is not None
    return last.state


def test_nothing_else_broke_only_if_no_failure_is_left_unexplained(course):
    unexplained = verdict(regressions=[])
    assert state_of(course, unexplained) == "can't tell yet whether anything else broke"
    assert state_of(course, verdict(regressions=[], defects=unexplained.defects[:1])) == "nothing else broke so far"
    assert state_of(course, verdict()) == "something else broke"
