"""The order of findings: the simplest one first."""

from typing import Any

from msgspec import structs

from grader.checks.outcome import FailureKind, Finding, Location, Outcome, SizeComparison, Status
from grader.report.causes import group_causes
from grader.sandbox.calling_variants import CallingVariant, Mode, Scale
from grader.verdict.verdict import Result, Verdict


def verdict_with(**findings: Finding) -> Verdict:
    checks = [Outcome(check=name, status=Status.FAILED, finding=finding) for name, finding in findings.items()]
    return Verdict(
        exercise="exercise_03", file="attention.py", outcome=Result.NOT_FIXED, reason=None, score=0, max_score=10,
        seed=1, defects=[], regressions=[*findings], checks=checks, isolation={}, seconds=0.1,
    )  # fmt: skip


def found(kind: FailureKind, **fields: Any) -> Finding:
    return Finding(kind=kind, item="output", expected="1", observed="2", **fields)


def test_values_come_before_dropout_evaluation_before_training_and_plain_calls_and_numbers_first() -> None:
    causes = group_causes(
        verdict_with(
            dropout=found(FailureKind.NO_DROPOUT),
            variant=found(FailureKind.CALLING_VARIANT, calling_variant=CallingVariant(scale=Scale.LARGE)),
            short_floats=found(FailureKind.SHIFT, has_extreme_numbers=True),
            training=found(FailureKind.SUM, in_training=True),
            in_training_variant=found(FailureKind.SUM, calling_variant=CallingVariant(mode=Mode.TRAINING)),
            plain=found(FailureKind.LEAK),
        )
    )
    in_order = ["plain", "variant", "short_floats", "training", "in_training_variant", "dropout"]
    assert [cause.checks[0] for cause in causes] == in_order


def test_of_one_cause_the_finding_at_the_smallest_sizes_is_shown() -> None:
    (cause,) = group_causes(
        verdict_with(
            large=found(FailureKind.VALUES, size_case={"tokens": 7}),
            small=found(FailureKind.VALUES, size_case={"tokens": 2}),
        )
    )
    assert cause.finding.size_case == {"tokens": 2}
    assert cause.checks == ["small", "large"]


def test_a_finding_with_more_sizes_does_not_come_before_one_with_smaller_sizes() -> None:
    (cause,) = group_causes(
        verdict_with(
            more=found(FailureKind.VALUES, size_case={"tokens": 9, "heads": 41, "earlier": 7}),
            smaller=found(FailureKind.VALUES, size_case={"tokens": 5, "heads": 3}),
        )
    )
    assert cause.checks == ["smaller", "more"]


def test_unexpected_parameters_that_differ_in_their_shapes_alone_are_one_cause() -> None:
    def unexpected(shape: str, **constructor: bool) -> Finding:
        sizes = SizeComparison(constructor=constructor)
        return Finding(kind=FailureKind.PARAMETERS, observed=f"k_proj.bias {shape}", sizes=sizes)

    small, large = unexpected("(12,)", qkv_bias=False), unexpected("(260,)", qkv_bias=False)
    causes = group_causes(verdict_with(small=small, large=large, plain=unexpected("(12,)")))
    assert [cause.checks for cause in causes] == [["small", "large"], ["plain"]]


def test_a_cause_names_the_regressions_among_its_checks() -> None:
    verdict = verdict_with(small=found(FailureKind.VALUES, size_case={"tokens": 1}), large=found(FailureKind.VALUES))
    (cause,) = group_causes(structs.replace(verdict, regressions=["large"]))
    assert (cause.checks, cause.broken, cause.is_new()) == (["small", "large"], ["large"], False)


def test_a_check_of_large_sizes_comes_last_though_its_other_sizes_are_small() -> None:
    (cause,) = group_causes(
        verdict_with(
            series=found(FailureKind.VALUES, size_case={"tokens": 2}, sizes=SizeComparison(is_large=True)),
            without_sizes=found(FailureKind.VALUES),
            usual=found(FailureKind.VALUES, size_case={"tokens": 7}, sizes=SizeComparison()),
        )
    )
    assert cause.checks == ["usual", "without_sizes", "series"]


def test_an_endless_loop_that_is_found_at_two_of_its_lines_is_one_cause() -> None:
    lines = [Location(label="attention.py", line=line, text="pass") for line in (3, 4)]
    first, second = (found(FailureKind.TIMEOUT, location=line) for line in lines)
    assert [cause.checks for cause in group_causes(verdict_with(first=first, second=second))] == [["first", "second"]]


def at_sizes(failed: dict[str, int], *, passed: dict[str, int] | None = None) -> Finding:
    sizes = SizeComparison(failed=failed, passed=passed, is_smallest=passed is None)
    return found(FailureKind.VALUES, size_case=failed, sizes=sizes)


def test_of_one_cause_a_finding_that_knows_right_sizes_is_shown() -> None:
    (cause,) = group_causes(
        verdict_with(
            only_three_heads=at_sizes({"batch": 1, "heads": 3}),
            some_heads=at_sizes({"batch": 3, "heads": 2}, passed={"batch": 3, "heads": 1}),
        )
    )
    assert cause.checks == ["some_heads", "only_three_heads"]
    assert cause.finding.sizes is not None
    assert cause.finding.sizes.passed == {"batch": 3, "heads": 1}


def test_sizes_at_which_another_check_fails_are_not_called_right() -> None:
    sizes = {"batch": 3, "tokens": 5}
    mixing = structs.replace(at_sizes(sizes, passed={"batch": 1, "tokens": 5}), kind=FailureKind.MIXING)
    causes = group_causes(verdict_with(mixing=mixing, values=at_sizes({"batch": 1, "tokens": 1})))
    assert [cause.finding.sizes for cause in causes] == [
        SizeComparison(failed=sizes),
        SizeComparison(failed={"batch": 1, "tokens": 1}, is_smallest=True),
    ]


def test_the_smallest_sizes_are_not_said_to_fail_if_another_check_passes_at_smaller_ones() -> None:
    training = at_sizes({"heads": 2}, passed={"heads": 1})
    (cause,) = group_causes(
        verdict_with(plain=at_sizes({"heads": 3}), training=structs.replace(training, in_training=True))
    )
    assert cause.checks == ["plain", "training"]
    assert cause.finding.sizes == SizeComparison(failed={"heads": 3}, is_smallest=False)


def test_a_leak_that_two_checks_find_at_one_place_is_one_cause() -> None:
    leaks = {
        name: Finding(kind=FailureKind.LEAK, action="changing token 1", place="token 0", observed=moved)
        for name, moved in (("usual", "0.6"), ("many_samples", "1.6"))
    }
    other = Finding(kind=FailureKind.LEAK, action="changing token 2", place="token 0", observed="0.6")
    causes = group_causes(verdict_with(**leaks, other=other))
    assert [cause.checks for cause in causes] == [["usual", "many_samples"], ["other"]]
