"""The key turns outcomes into statuses: known ones are reported, the others are unknown, none is guessed."""

import msgspec
import pytest
import torch

from grader.checks.outcome import (
    Examination,
    FailureKind,
    Finding,
    Location,
    Map,
    Outcome,
    Picture,
    PictureKind,
    Status,
    parse_kind,
)
from grader.report.causes import group_causes
from grader.report.view import view_of
from grader.spec.exercise import Defect, Exercise
from grader.spec.properties import ReturnsShapes
from grader.verdict.attribution import (
    NO_CLUES,
    RULES,
    Clues,
    DefectStatus,
    Reason,
    UnknownReason,
    VariantComparison,
    rule_of,
)
from grader.verdict.judge import _identified_defects
from grader.verdict.key import Key
from grader.verdict.matching import compare_deviations, find_kept_fixes, find_partial_fixes, is_part
from grader.verdict.statements import Reading
from grader.verdict.verdict import Result, Verdict, make_verdict
from tests.support.exercises import make_exercise

FIXED, PRESENT, UNKNOWN = DefectStatus.FIXED, DefectStatus.PRESENT, DefectStatus.UNKNOWN

CHECKS = ("values", "causal", "shapes", "dtype")
SIGNS = {
    "": {},
    "mask": {"values": "failed:values", "causal": "failed:changed"},
    "scale": {"values": "failed:values"},
    "extra": {"dtype": "failed:dtype"},
    "mask+scale": {"values": "failed:values", "causal": "failed:changed"},
    "extra+mask": {"values": "failed:values", "causal": "failed:changed", "dtype": "failed:dtype"},
    "extra+scale": {"values": "failed:values", "dtype": "failed:dtype"},
    "extra+mask+scale": {"values": "failed:values", "causal": "failed:changed", "dtype": "failed:dtype"},
}
"""Mask hides scale: with both, nothing is seen that mask alone would not show."""

METHODS = {
    name: {
        "A.forward": "masked" if "mask" not in name else "unmasked",
        "A.scores": "scaled" if "scale" not in name else "unscaled",
        "A.extra": "plain" if "extra" in name else "rich",
    }
    for name in SIGNS
}


UNLIKE = "unlike-"
"""Begins, here, the kind of a failure whose numbers are those of no matching variant."""


def defect(name: str, points: float, *, stretch: bool = False) -> Defect:
    return Defect(
        id=name, title=name, points=points, was="1", fix="2", hints=("a", "b", "c"), why="so", stretch=stretch
    )


EXERCISE = make_exercise(
    "A",
    defects=[defect("mask", 4), defect("scale", 3), defect("extra", 2, stretch=True)],
    checks=[ReturnsShapes(id="values")],
)
KEY = Key(digest="digest", signatures=SIGNS, methods=METHODS)


def finding_of(signature: str, message: str, **others) -> Finding:
    kind, detail = parse_kind(signature)
    return Finding(kind=kind, detail=detail, message=message, **others)


def examination(signatures: dict[str, str], **others) -> Examination:
    """The examination of a submission whose failed checks have these signatures."""
    outcomes = []
    for check in CHECKS:
        status, _, kind = signatures.get(check, "passed:").partition(":")
        kind, _, operation = kind.partition("@")
        finding = finding_of(kind.removeprefix(UNLIKE), f"{check} is off", operation=operation) if kind else None
        outcomes.append(Outcome(check=check, status=Status(status), finding=finding))
    return Examination(outcomes=outcomes, **others)


def clues_of(signatures: dict[str, str], **others) -> Clues:
    """The clues about a submission whose failed checks have these signatures."""
    unmatched = {check for check, signature in signatures.items() if f":{UNLIKE}" in signature}
    return Clues(unmatched=frozenset(unmatched), **others)


def split(others: dict) -> tuple[dict, dict]:
    """The fields of an examination, and those of clues."""
    clues = {name: value for name, value in others.items() if name in Clues.__struct_fields__}
    return {name: value for name, value in others.items() if name not in clues}, clues


def verdict_on(
    examined: Examination, clues: Clues = NO_CLUES, key: Key = KEY, exercise: Exercise = EXERCISE
) -> Verdict:
    """The verdict on an examined submission."""
    return make_verdict(VariantComparison(exercise, key, examined, clues), "attention.py", 7)


def read(signatures: dict[str, str], methods: dict[str, str] | None = None, key: Key = KEY, **others):
    """The verdict on a submission whose failed checks have these signatures."""
    seen, clues = split(others)
    examined = examination(signatures, methods=methods or {}, **seen)
    return verdict_on(examined, clues_of(signatures, **clues), key=key)


def statuses(verdict):
    return [each.status for each in verdict.defects]


def test_the_reference_gets_everything():
    verdict = read({})
    assert statuses(verdict) == [FIXED, FIXED, FIXED]
    assert (verdict.outcome, verdict.exit_code(), verdict.score, verdict.max_score) == (Result.FIXED, 0, 10, 10)
    assert [each.points for each in verdict.defects] == [4, 3, 2]


def test_the_starter_gets_nothing():
    verdict = read(SIGNS["extra+mask+scale"], METHODS["extra+mask+scale"])
    assert statuses(verdict) == [PRESENT, PRESENT, PRESENT]
    assert (verdict.outcome, verdict.exit_code(), verdict.score) == (Result.NOT_FIXED, 1, 0)
    assert verdict.regressions == []


def test_a_stretch_defect_left_over_costs_neither_points_nor_the_exit_code():
    verdict = read(SIGNS["extra"])
    assert statuses(verdict) == [FIXED, FIXED, PRESENT]
    assert (verdict.outcome, verdict.exit_code(), verdict.score) == (Result.FIXED, 0, 10)


def test_a_check_that_passes_rules_out_every_defect_that_would_fail_it():
    verdict = read(SIGNS["scale"])  # causal passes, so mask is fixed, whatever the methods contain
    assert statuses(verdict) == [FIXED, PRESENT, FIXED]
    assert (verdict.score, verdict.regressions) == (4, [])


@pytest.mark.parametrize(("variant", "expected"), [("mask", FIXED), ("mask+scale", PRESENT)])
def test_matching_variants_are_told_apart_by_the_methods_that_the_defect_touches(variant, expected):
    assert SIGNS["mask"] == SIGNS["mask+scale"]
    assert statuses(read(SIGNS[variant], METHODS[variant])) == [PRESENT, expected, FIXED]


def test_matching_variants_whose_methods_were_rewritten_are_unknown_with_a_reason():
    verdict = read(SIGNS["mask"], {"A.scores": "something else"})
    assert statuses(verdict) == [PRESENT, UNKNOWN, FIXED]
    assert [each.reason for each in verdict.defects] == [None, Reason(kind=UnknownReason.UNDECIDED), None]
    assert verdict.defects[1].points == 0


@pytest.mark.parametrize(
    ("same", "expected"),
    [
        (["mask"], FIXED),
        (["mask+scale"], PRESENT),
        (["mask", "extra+mask"], FIXED),
        (["mask", "mask+scale"], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_in_a_sealed_edition_matching_variants_are_told_apart_by_those_that_were_seen_to_be_the_same(same, expected):
    sealed, known = Key(digest="digest", signatures=SIGNS, methods={}), _identified_defects(EXERCISE, same)
    assert statuses(read(SIGNS["mask"], METHODS["mask"], key=sealed, identified_defects=known)) == [
        PRESENT,
        expected,
        FIXED,
    ]


def test_a_failure_that_no_defect_explains_is_a_regression():
    verdict = read({"shapes": "failed:shape"})
    assert statuses(verdict) == [FIXED, FIXED, FIXED]
    assert verdict.regressions == ["shapes"]
    assert (verdict.outcome, verdict.exit_code(), verdict.score) == (Result.NOT_FIXED, 1, 7)


def test_a_defects_check_that_fails_in_another_way_leaves_the_defect_unknown_not_present():
    verdict = read({"values": "crashed:crash:TypeError", "causal": "crashed:crash:TypeError"})
    assert statuses(verdict) == [UNKNOWN, UNKNOWN, FIXED]
    assert verdict.defects[0].reason == Reason(kind=UnknownReason.FAILS_DIFFERENTLY, check="values")
    assert verdict.regressions == []
    assert verdict.score == 0


def test_a_defect_whose_checks_all_fail_is_not_called_fixed_while_a_failure_is_unexplained():
    crash, off = {"dtype": "crashed:crash:TypeError"}, {"dtype": "failed:dtype"}
    leak = {"causal": "failed:leak"}
    key = Key(
        digest="digest",
        signatures={"": {}, "extra": off, "scale": crash, "mask": leak, "extra+scale": crash},
        methods=METHODS,
    )
    assert statuses(read(off, key=key)) == [FIXED, FIXED, PRESENT]
    assert statuses(read(off | {"values": "failed:values"}, key=key)) == [FIXED, UNKNOWN, PRESENT]


def test_a_crash_everywhere_leaves_everything_unknown():
    verdict = read(dict.fromkeys(CHECKS, "crashed:crash:NameError"))
    assert statuses(verdict) == [UNKNOWN, UNKNOWN, UNKNOWN]
    assert verdict.regressions == ["shapes"]
    assert verdict.score == 0


def test_a_failure_that_is_not_a_defects_own_is_not_said_to_be_its_checks():
    alike = {"": {}, "mask": {"causal": "failed:leak"}, "scale": {"values": "failed:values"}}
    key = Key(
        digest="digest",
        signatures=alike | {"mask+scale": alike["mask"] | alike["scale"], "extra": {}},
        methods=METHODS,
    )
    verdict = read({"causal": "failed:leak", "values": "failed:values", "shapes": "failed:shape"}, key=key)
    hidden = Reason(kind=UnknownReason.HIDDEN, check="shapes")
    assert [each.reason for each in verdict.defects] == [None, None, hidden]


def test_nothing_is_fixed_while_nothing_that_compares_values_passes():
    comparing = frozenset({"values", "dtype"})
    dead = {"values": "failed:type", "dtype": "failed:type"}
    verdict = read(dead, value_checks=comparing)
    assert statuses(verdict) == [UNKNOWN, UNKNOWN, UNKNOWN]
    assert {each.reason for each in verdict.defects} == {Reason(kind=UnknownReason.NO_SIGNAL, check="values")}
    assert verdict.score == 0
    assert statuses(read({"values": "failed:type"}, value_checks=comparing)) != statuses(verdict)


def test_a_part_that_is_right_by_itself_gives_no_points_to_a_module_that_is_never_right():
    comparing, parts = frozenset({"values", "dtype"}), frozenset({"dtype"})
    assert set(statuses(read({"values": "failed:type"}, value_checks=comparing, partial_value_checks=parts))) == {
        UNKNOWN
    }
    verdict = read(
        {"shapes": "failed:shape", "values": "failed:shape"}, value_checks=comparing, partial_value_checks=parts
    )
    assert set(statuses(verdict)) == {UNKNOWN}
    reason = Reason(kind=UnknownReason.NO_SIGNAL_AS_A_WHOLE, check="values")
    assert {each.reason for each in verdict.defects} == {reason}


def test_a_half_fixed_defect_is_unknown_and_takes_no_points_from_a_fixed_one():
    """The defect is half-fixed, which takes no points from another defect that is fixed."""
    comparing = frozenset({"values"})
    halfway = {"values": "failed:unlike-values", "causal": "failed:changed"}
    assert statuses(read(halfway, value_checks=comparing)) == [UNKNOWN, UNKNOWN, FIXED]
    more = halfway | {"shapes": "failed:shape"}
    assert statuses(read(more, value_checks=comparing)) == [UNKNOWN, UNKNOWN, UNKNOWN]


def test_a_defect_is_present_only_where_the_numbers_are_its_own():
    key = Key(digest="digest", signatures={"": {}, "mask": SIGNS["mask"], "scale": {}, "extra": {}}, methods=METHODS)
    assert statuses(read(SIGNS["mask"], key=key))[0] is PRESENT
    verdict = read({"values": "failed:unlike-values", "causal": "failed:changed"}, key=key)
    assert verdict.defects[0].status is UNKNOWN
    assert verdict.defects[0].reason == Reason(kind=UnknownReason.FAILS_DIFFERENTLY, check="values")


@pytest.mark.parametrize(("recognised", "expected"), [({"causal"}, PRESENT), ({"values"}, UNKNOWN), (set(), UNKNOWN)])
def test_a_defect_is_known_beside_another_by_the_numbers_that_it_alone_brings_about(recognised, expected):
    """Scale is fixed wrongly, so that no comparison comes out right; only mask fails what looks at causality."""
    outcomes = [
        Outcome(
            check="values",
            status=Status.FAILED,
            finding=Finding(kind=FailureKind.VALUES, message="values are off"),
        ),
        Outcome(
            check="causal",
            status=Status.FAILED,
            finding=Finding(kind=FailureKind.OTHER, detail="changed", message="causal is off"),
        ),
        *(Outcome(check=check, status=Status.PASSED) for check in ("shapes", "dtype")),
    ]
    seen = Examination(outcomes=outcomes, value_checks=frozenset({"values"}))
    clues = Clues(unmatched=frozenset({"values"}), matching_deviations=frozenset(recognised))
    verdict = verdict_on(seen, clues)
    assert statuses(verdict)[:2] == [expected, UNKNOWN]


def test_a_check_that_saw_right_values_and_then_wrong_gradients_takes_no_defect_of_values_away():
    wrong = dict.fromkeys(("values", "causal", "shapes"), "failed:values")
    key = Key(
        digest="digest",
        signatures={"": {}, "mask": wrong | {"dtype": "failed:dtype"}, "scale": {}, "extra": {}},
        methods=METHODS,
    )
    later = dict.fromkeys(("values", "causal", "shapes"), "failed:gradient")
    assert statuses(read(later, key=key))[0] is FIXED
    assert statuses(read(later | {"dtype": "failed:type"}, key=key))[0] is UNKNOWN
    gradients = Key(
        digest="digest",
        signatures={"": {}, "mask": {"values": "failed:no-gradient", "causal": "failed:nonfinite"}},
        methods=METHODS,
    )
    gradients = Key(digest="digest", signatures=KEY.signatures | gradients.signatures, methods=METHODS)
    assert statuses(read({"values": "failed:gradient", "shapes": "failed:shape"}, key=gradients))[0] is FIXED
    both = dict.fromkeys(("values", "causal"), "failed:gradient")
    assert statuses(read(both, key=gradients))[0] is UNKNOWN


def test_checks_that_were_not_run_are_no_regressions_beside_those_that_hung():
    hung = {"values": "timed_out:timeout", "shapes": "timed_out:timeout", "dtype": "not_run:no-time"}
    verdict = read(hung, METHODS[""])
    assert verdict.regressions == ["values", "shapes"]
    assert verdict.outcome is Result.NOT_FIXED


def test_a_crash_in_every_check_matches_a_variant_that_crashes_everywhere():
    crash = dict.fromkeys(CHECKS, "crashed:crash:AttributeError@vies")
    key = Key(digest="digest", signatures=SIGNS | {name: crash for name in SIGNS if "mask" in name}, methods=METHODS)
    comparing = frozenset({"values", "dtype"})
    assert statuses(read(crash, METHODS["mask"], key=key, value_checks=comparing)) == [PRESENT, FIXED, FIXED]


def test_nothing_is_fixed_while_most_of_its_own_checks_fail_for_another_reason():
    wrong = dict.fromkeys(("values", "causal", "shapes"), "failed:values")
    key = Key(
        digest="digest",
        signatures={"": {}, "mask": wrong | {"dtype": "failed:dtype"}, "scale": {}, "extra": {}},
        methods=METHODS,
    )
    most = dict.fromkeys(("values", "causal", "shapes"), "failed:unlike-values")
    assert statuses(read(most, key=key))[0] is UNKNOWN
    assert statuses(read({"values": "failed:values"}, METHODS[""], key=key))[0] is FIXED
    assert statuses(read({"values": "failed:values"}, key=key))[0] is UNKNOWN  # nothing shows that the fix is there


def test_a_stretch_defect_mended_halfway_costs_no_more_where_others_fail_the_same_check():
    key = Key(digest="digest", signatures=SIGNS | {"extra": {"values": "failed:nonfinite"}}, methods=METHODS)
    verdict = read({"values": "failed:unlike-values"}, key=key)
    assert verdict.defects[2].status is UNKNOWN
    assert verdict.regressions == []
    fixed = read({"shapes": "failed:shape"}, key=key)
    assert fixed.regressions == ["shapes"]


def test_a_stretch_defect_mended_halfway_costs_no_more_than_one_left_alone():
    verdict = read({"dtype": "failed:in-another-way"})
    assert statuses(verdict) == [FIXED, FIXED, UNKNOWN]
    assert verdict.regressions == []
    assert (verdict.outcome, verdict.score) == (Result.FIXED, verdict.max_score)


def test_failures_are_those_of_the_changed_statements_where_nothing_else_was_changed():
    key = KEYS["two statements"]
    changed = TWO_STATEMENTS[""] | {"A.scores": "kept halved"}
    verdict = read({"values": "failed:shape", "shapes": "failed:shape"}, changed, key=key)
    assert (statuses(verdict), verdict.regressions) == ([FIXED, UNKNOWN, FIXED], [])
    elsewhere = changed | {"A.extra": "more"}
    verdict = read({"values": "failed:shape", "shapes": "failed:shape"}, elsewhere, key=key)
    assert verdict.regressions == ["shapes"]


@pytest.mark.parametrize(("fragments", "status"), [({}, FIXED), ({"methods": {}}, UNKNOWN)])
def test_a_raise_in_a_calling_variant_shows_a_defect_unless_its_fix_is_there(fragments, status):
    key = Key(
        digest="digest",
        signatures={"": {}, "mask": dict.fromkeys(CHECKS, "failed:shape"), "scale": {}, "extra": {}},
        methods=METHODS,
    )
    verdict = read({"values": "failed:calling variant"}, **({"methods": METHODS[""]} | fragments), key=key)
    assert verdict.defects[0].status is status
    assert verdict.regressions == (["values"] if status is FIXED else [])


def test_statements_in_another_order_do_not_show_a_fix():
    signs = {"": {}, "mask": dict.fromkeys(CHECKS, "failed:values"), "scale": {}, "extra": {}}
    key = Key(digest="digest", signatures=signs, methods={name: {"A.forward": "turned cut"} for name in signs})
    wrong = {"values": "failed:values"}
    assert statuses(read(wrong, {"A.forward": "turned cut"}, key=key))[0] is UNKNOWN
    standing = read(wrong, {"A.forward": "turned cut"}, key=key, kept_fixes=frozenset({"mask"}))
    assert (standing.defects[0].status, standing.regressions) == (FIXED, ["values"])


def test_a_regression_beside_a_defect_leaves_the_defect_present():
    verdict = read(SIGNS["extra"] | {"shapes": "failed:shape"})
    assert statuses(verdict) == [FIXED, FIXED, PRESENT]
    assert verdict.regressions == ["shapes"]
    assert verdict.exit_code() == 1


@pytest.mark.parametrize("status", ["timed_out:timeout", "not_run:no-time"])
def test_a_check_that_never_ended_counts_as_failed(status):
    verdict = read({"shapes": status})
    assert verdict.regressions == ["shapes"]
    assert verdict.outcome is Result.NOT_FIXED


def test_the_defects_that_explain_a_failure_are_named_as_its_causes():
    verdict = read(SIGNS["extra+mask"], METHODS["extra+mask"])
    assert verdict.causes == {"values": ["mask"], "causal": ["mask"], "dtype": ["extra"]}


def test_every_defect_of_a_file_that_does_not_load_is_unknown_with_the_place():
    why = Finding(
        kind=FailureKind.CRASH,
        detail="SyntaxError",
        message="it cannot be compiled",
        location=Location(label="attention.py", line=3, text="x = (", column=5),
    )
    verdict = verdict_on(Examination(outcomes=[], unloadable=why, seconds=0.5))
    assert (verdict.outcome, verdict.exit_code(), verdict.score) == (Result.NOT_GRADABLE, 1, 0)
    assert verdict.reason == "it cannot be compiled (attention.py, line 3, column 5)"
    assert statuses(verdict) == [UNKNOWN] * 3
    assert verdict.seconds == 0.5


@pytest.mark.parametrize(("saw", "status", "regressions"), [(0.5, UNKNOWN, []), (0.25, UNKNOWN, [])])
def test_a_check_with_a_defects_own_numbers_shows_a_partial_fix(saw, status, regressions):
    outcomes = [Outcome(check=check, status=Status.PASSED) for check in CHECKS if check != "causal"]
    outcomes.append(
        Outcome(
            check="causal",
            status=Status.FAILED,
            finding=Finding(kind=FailureKind.OTHER, detail="changed", message="causal is off"),
        )
    )
    seen = Examination(outcomes=outcomes, deviations={"causal": saw})
    partial_fixes = find_partial_fixes(
        VariantComparison(EXERCISE, KEY, seen),
        lambda name, checks: Examination(outcomes=outcomes, deviations=dict.fromkeys(checks, 0.5)),
    )
    verdict = verdict_on(seen, Clues(partial_fixes=partial_fixes))
    assert (statuses(verdict), verdict.regressions) == ([status, FIXED, FIXED], regressions)


def test_a_check_that_fails_only_by_a_changed_torch_setting_counts_as_passed_for_defects():
    verdict = read({"values": "failed:state-changed"})
    assert (statuses(verdict), verdict.regressions) == ([FIXED] * 3, ["values"])


CRASH = dict.fromkeys(CHECKS, "crashed:crash:RuntimeError@view")
CRASHING = Key(digest="digest", signatures=SIGNS | {name: CRASH for name in SIGNS if "mask" in name}, methods=METHODS)
BY_NUMBERS = {"values": "failed:unlike-values", "causal": "failed:changed"}
COMPARING = frozenset({"values"})
TWO_STATEMENTS = {name: methods | {"A.scores": f"kept {methods['A.scores']}"} for name, methods in METHODS.items()}
BY_RULE = {
    "the checks that it alone fails show its deviation": (BY_NUMBERS, {"matching_deviations": frozenset({"causal"})}),
    "the module computes nothing right": ({"values": "failed:type"}, {"value_checks": COMPARING}),
    "the submission differs from a variant without it only in statements of other defects": (
        {"values": "failed:values"},
        {"key": "two statements", "methods": TWO_STATEMENTS[""] | {"A.scores": "kept halved"}},
    ),
    "it is fixed on one path only": ({"causal": "failed:unlike-changed"}, {"partial_fixes": {"causal": {"mask"}}}),
    "every matching variant has it, and it is not fixed halfway": (SIGNS["mask"], {}),
    "no candidate has it, and its own checks are right": (SIGNS["scale"], {}),
    "its own checks fail as no matching variant does": (BY_NUMBERS, {"value_checks": COMPARING}),
    "something fails that no matching variant explains": ({"shapes": "failed:shape"}, {"key": "all alike"}),
    "no matching variant has it": ({"causal": "failed:leak"}, {"key": "all alike"}),
    "every matching variant that reads like the submission has it": (
        {},
        {"key": "all alike", "methods": METHODS["mask"]},
    ),
    "no matching variant that reads like the submission has it": ({}, {"key": "all alike", "methods": METHODS[""]}),
    "it lies behind a crash": (CRASH, {"key": "crashing"}),
    "no check decides": ({}, {"key": "all alike"}),
}
"""Of every rule, what it applies to: kinds of failures, and what else was seen. It is read for `mask`, or `scale`."""

KEYS = {
    "all alike": Key(
        digest="digest",
        signatures={"": {}, "mask": {}, "scale": {"causal": "failed:leak"}, "extra": {}},
        methods=METHODS,
    ),
    "two statements": Key(digest="digest", signatures=SIGNS, methods=TWO_STATEMENTS),
    "crashing": CRASHING,
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_gives_its_status(rule):
    kinds, others = BY_RULE[rule.name]
    key = KEYS.get(others.get("key", ""), KEY)
    seen, clues = split({name: value for name, value in others.items() if name != "key"})
    comparison = VariantComparison(EXERCISE, key, examination(kinds, **seen), clues_of(kinds, **clues))
    defect = "scale" if rule.name == "it lies behind a crash" else "mask"
    evidence = comparison.evidence(defect)
    assert rule_of(evidence).name == rule.name
    assert (rule.status is UNKNOWN) == (rule.reason is not None)
    if rule.reason is not None:
        assert rule.reason(evidence)


def test_there_is_a_case_of_every_rule():
    assert [*BY_RULE] == [rule.name for rule in RULES]


def test_wrong_numbers_of_no_variant_are_one_cause_however_many_checks_see_them():
    wrong = {"values": "failed:values", "causal": "failed:values", "shapes": "failed:values"}
    seen = examination(wrong, deviations=dict.fromkeys(wrong, 0.5))
    other = Examination(outcomes=seen.outcomes, deviations=dict.fromkeys(wrong, 0.25))
    clues = compare_deviations(Clues(), seen, [other])
    assert clues == Clues(unmatched=frozenset(wrong))
    causes = group_causes(verdict_on(seen, clues))
    assert [cause.checks for cause in causes] == [["values", "causal", "shapes"]]


def test_wrong_values_are_shown_before_dropout_and_advice():
    advice = {"refuses": "unclear-refusal", "dropout": "dropout-elsewhere"}
    kinds = {**advice, "values": "values", "causal": "changed", "eval": "dropout"}
    found = [
        Outcome(check=check, status=Status.FAILED, finding=finding_of(kind, f"{check} is off"))
        for check, kind in kinds.items()
    ]
    verdict = msgspec.structs.replace(read({}), checks=found)
    assert [cause.checks for cause in group_causes(verdict)] == [
        ["causal"],
        ["eval"],
        ["values"],
        *([name] for name in advice),
    ]


def test_a_picture_of_another_check_is_labelled_with_that_check():
    picture = Picture(kind=PictureKind.VALUES, maps=[Map(title="seen", cells=[[1.0]])])
    crash = Outcome(
        check="calls",
        status=Status.CRASHED,
        finding=Finding(
            kind=FailureKind.CRASH,
            message="IndexError: out of range",
            location=Location(label="attention.py", line=3, text="x"),
        ),
    )
    wrong = Outcome(
        check="values",
        status=Status.FAILED,
        finding=Finding(kind=FailureKind.VALUES, message="values are off", picture=picture),
    )
    verdict = msgspec.structs.replace(read({}), checks=[crash, wrong], causes={"calls": ["mask"], "values": ["mask"]})
    [cause] = group_causes(verdict)
    assert (cause.finding, cause.picture, cause.pictured) == (crash.finding, picture, "values")
    assert view_of(verdict, EXERCISE).causes[0].picture_title == 'in "returns shapes":'
    [own] = group_causes(msgspec.structs.replace(verdict, checks=[wrong]))
    assert (own.picture, own.pictured) == (picture, "")


LINES = {
    "": {"A.forward": "one masked two scaled three"},
    "mask": {"A.forward": "one two scaled three"},
    "scale": {"A.forward": "one masked two twice three"},
    "mask+scale": {"A.forward": "one two twice three"},
}
"""Mask removes a statement, and scale changes one."""


@pytest.mark.parametrize(
    ("statements", "mask", "scale"),
    [
        ("one masked two scaled three", Reading.FIXED, Reading.FIXED),
        ("one two twice three", Reading.FAULTY, Reading.FAULTY),
        ("one masked two other three", Reading.FIXED, Reading.CHANGED),
        ("one other two twice three", Reading.CHANGED, Reading.FAULTY),
        ("one masked two scaled three beside", Reading.FIXED, Reading.FIXED),
        ("quite another method", Reading.UNREAD, Reading.UNREAD),
    ],
)
def test_a_defect_is_read_in_the_statements_that_it_changes(statements, mask, scale):
    signatures = {name: SIGNS[name] for name in LINES}
    exercise = msgspec.structs.replace(EXERCISE, defects=EXERCISE.defects[:2])
    key = Key(digest="digest", signatures=signatures, methods=LINES)
    seen = examination(SIGNS["mask"], methods={"A.forward": statements})
    comparison = VariantComparison(exercise, key, seen)
    assert [comparison.reading(name) for name in ("mask", "scale")] == [mask, scale]


@pytest.mark.parametrize(
    ("was", "fix", "text", "stands"),
    [
        ("k = self.q(x)", "k = self.k(x)", "k = 2 * self.k(x)", True),
        ("k = self.q(x)", "k = self.k(x)", "k = self.q(x)", False),
        ("f(x, mask)", "f(x, mask, scale=1.0)", "f(x, mask.bool(), scale=1.0)", False),
        ("g(a * scale, v)", "g(a, v)", "g(a + 0, v)", True),
        ("g(a * scale, v)", "g(a, v)", "g(a * scale, v)", False),
        ("key = n, z", "key = n, first, z", "key = (n, first, z) if cached else (n, z)", False),
        ("key = n, z", "key = n, first, z", "key = (n, first, z, 0)", True),
    ],
)
def test_a_fix_is_recognised_by_its_own_tokens(was, fix, text, stands):
    named = msgspec.structs.replace(defect("mask", 4), was=was, fix=fix)
    exercise = msgspec.structs.replace(EXERCISE, defects=[named])
    assert find_kept_fixes(exercise, f"{text}\n", f"{fix}\n") == ({"mask"} if stands else set())


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([0.0, 40.0, 0.5], [30.0, 40.0, 20.0], True),  # fixed for the first and the last
        ([0.0, 41.0, 0.5], [30.0, 44.0, 20.0], False),
        ([0.0, 0.5, 0.5], [30.0, 40.0, 20.0], False),
        (frozenset({"no a", "no b"}), frozenset({"no b", "no c", "no a"}), True),
        (frozenset({"no a", "no d"}), frozenset({"no b", "no c", "no a"}), False),
    ],
)
def test_a_deviation_may_be_a_part_of_another(one, other, expected):
    ours, theirs = (value if isinstance(value, frozenset) else torch.tensor(value) for value in (one, other))
    assert is_part(ours, theirs) is expected


def test_the_points_of_a_right_defect_do_not_fall_with_more_that_is_right():
    """Whatever fails of the checks that a variant fails, no defect that is right in the variant loses its points."""
    for name, signature in SIGNS.items():
        whole = read(signature, METHODS[name])
        for check in signature:
            less = {other: kind for other, kind in signature.items() if other != check}
            assert read(less, METHODS[name]).score >= whole.score


def test_a_fault_beside_both_fixes_takes_no_points_of_theirs():
    """Each defect's own check passes, and only what both fail is wrong."""
    shared = dict.fromkeys(("values", "shapes", "dtype"), "failed:values")
    key = Key(
        digest="digest",
        signatures={
            "": {},
            "mask": shared | {"causal": "failed:values"},
            "scale": shared | {"scaled": "failed:values"},
            "mask+scale": shared | {"causal": "failed:values", "scaled": "failed:values"},
        },
        methods=LINES,
    )
    outcomes = [*examination(shared).outcomes, Outcome(check="scaled", status=Status.PASSED)]
    seen = Examination(outcomes=outcomes, methods=LINES[""], value_checks=frozenset({*shared, "causal", "scaled"}))
    exercise = msgspec.structs.replace(EXERCISE, defects=EXERCISE.defects[:2])
    verdict = verdict_on(seen, key=key, exercise=exercise)
    assert (statuses(verdict), verdict.score, verdict.regressions) == ([FIXED, FIXED], 7, [*shared])
