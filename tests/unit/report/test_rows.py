"""The rows of the table at the top of a page."""

from msgspec import structs

from grader.checks.outcome import SizeComparison
from grader.report.view import NONE_MATCHES, NOT_AS_BEFORE, VerdictView, view_of
from grader.spec.loading import load_exercise
from grader.spec.properties import MatchesReference
from grader.verdict.attribution import DefectStatus, Reason, UnknownReason
from grader.verdict.verdict import Verdict
from tests.support.gradebooks import verdict


def page_of(course, verdict: Verdict) -> VerdictView:
    """Return the page, with the ids of the exercise's own defects in place of the made-up ones."""
    exercise = load_exercise(course.description(verdict.exercise))
    ids = dict(zip(("mask", "long"), (each.id for each in exercise.defects), strict=True))
    defects = [structs.replace(each, id=ids[each.id]) for each in verdict.defects]
    causes = {check: [ids[each] for each in found] for check, found in verdict.causes.items()}
    return view_of(structs.replace(verdict, defects=defects, causes=causes), exercise)


def state_of(course, verdict: Verdict) -> str:
    """Return the state in the last row."""
    last = page_of(course, verdict).everything_else
    assert last is not None
    return last.state


def label_of(course, verdict: Verdict) -> str:
    """Return the phrase on defects below the only finding."""
    (cause,) = page_of(course, verdict).causes
    return cause.notes.partition(" · ")[0]


def test_nothing_else_broke_only_if_no_failure_is_left_unexplained(course):
    unexplained = verdict(regressions=[])
    assert state_of(course, unexplained) == "can't tell yet whether anything else broke"
    assert state_of(course, verdict(regressions=[], defects=unexplained.defects[:1])) == "nothing else broke so far"
    assert state_of(course, verdict()) == "something else broke"


def test_a_finding_that_a_touched_defect_fails_names_it_as_possible(course):
    unexplained = verdict(regressions=[], causes={})
    assert label_of(course, unexplained) == "perhaps defect 2"
    fixed, unknown = unexplained.defects
    of_another_check = structs.replace(unknown, reason=Reason(kind=UnknownReason.FAILS_DIFFERENTLY, check="values"))
    other = structs.replace(unexplained, defects=[fixed, of_another_check])
    assert label_of(course, other) == "can't tell yet whether it is an original bug"


def test_an_unexplained_finding_belongs_to_the_only_present_defect_without_a_finding(course):
    unexplained = verdict(regressions=[], causes={})
    fixed, unknown = unexplained.defects
    present = structs.replace(unknown, status=DefectStatus.PRESENT, reason=None)
    half_fixed = structs.replace(unexplained, defects=[fixed, present])
    assert label_of(course, half_fixed) == "perhaps defect 2"
    assert [row.note for row in page_of(course, half_fixed).defects][1] == NOT_AS_BEFORE
    untouched = structs.replace(unexplained, defects=[structs.replace(fixed, status=DefectStatus.PRESENT), present])
    assert label_of(course, untouched).startswith("wrong with")


def test_one_row_stands_for_all_defects_if_no_finding_shows_one_and_their_number_is_hidden(course):
    reason = Reason(kind=UnknownReason.NO_SIGNAL, check="shape")
    unknown = [
        structs.replace(each, status=DefectStatus.UNKNOWN, points=0.0, reason=reason) for each in verdict().defects
    ]
    page = page_of(course, verdict(regressions=[], causes={}, defects=unknown))
    assert [(row.name, row.state, row.note) for row in page.defects] == [("defects", "can't tell yet", NONE_MATCHES)]


def test_the_first_finding_of_a_check_with_its_own_calls_names_the_command_that_shows_them(course):
    exercise = load_exercise(course.description("exercise_30"))
    own, plain = (
        next(each.id for each in exercise.checks if bool(each.variation_class()) is has_own_calls)
        for has_own_calls in (True, False)
    )
    (_, outcome), hidden = verdict().checks, {"defects": [], "causes": {}, "regressions": []}
    for check, is_named in ((own, True), (plain, False)):
        judged = verdict(exercise="exercise_30", checks=[structs.replace(outcome, check=check)], **hidden)
        (cause,) = view_of(judged, exercise).causes
        assert ("python -m grader try exercise_30 --code" in cause.explanation) is is_named


def test_a_finding_names_the_fixed_arguments_that_its_check_does_not_choose(course):
    exercise = load_exercise(course.description("exercise_01"))
    assert exercise.interface.constructor["dropout"] == 0.0
    sizes = {"batch": 1, "tokens": 1, "embed_dim": 12, "num_heads": 1}
    own = next(each.id for each in exercise.checks if "dropout" in each.constructor)
    chosen = next(each.id for each in exercise.checks if getattr(each, "probability", "") == "dropout")
    plain = next(
        each.id
        for each in exercise.checks
        if isinstance(each, MatchesReference) and not (each.constructor or each.variation)
    )
    variation = next(each.id for each in exercise.checks if each.variation_class())
    (_, outcome) = verdict().checks
    for check, argument in ((plain, "dropout=0.0 "), (own, ""), (chosen, "dropout above 0 "), (variation, "")):
        finding = structs.replace(outcome.finding, size_case=sizes, sizes=SizeComparison(failed=sizes))
        failed = structs.replace(outcome, check=check, finding=finding)
        judged = verdict(exercise="exercise_01", checks=[failed], defects=[], causes={}, regressions=[])
        (cause,) = view_of(judged, exercise).causes
        assert cause.notes.partition("; ")[2].partition("· found by")[0] == argument
