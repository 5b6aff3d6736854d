"""The order of findings: the simplest one first."""

from typing import Any

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
