"""Findings in words: what differs comes first, and everything that is needed to repeat the call follows."""

from msgspec import structs

from grader.checks.outcome import FailureKind, Finding, SizeComparison
from grader.report.findings import sentence, size_words
from grader.sandbox.calling_variants import CallingVariant, GradientMode, Mode, Scale

WRONG = Finding(kind=FailureKind.VALUES, action="forward", item="output", expected="1", observed="2")
SIZES = SizeComparison(failed={"batch": 3, "heads": 2, "width": 8}, passed={"batch": 3, "heads": 1, "width": 8})


def test_the_difference_comes_before_the_calling_variant() -> None:
    variant = CallingVariant(gradients=GradientMode.NO_GRAD, scale=Scale.LARGE)
    calls = "right in a plain call, but not under no_grad, with inputs 60 times as large"
    assert sentence(structs.replace(WRONG, calling_variant=variant)) == f"forward: output: expected 1, got 2; {calls}"


def test_sizes_that_fail_and_sizes_that_pass_are_given_in_full() -> None:
    found = structs.replace(WRONG, sizes=SIZES, size_case=SIZES.failed)
    assert size_words(found) == "wrong with heads=2; right with heads=1; both with batch=3, width=8"


def test_the_mode_is_named_once() -> None:
    in_training = structs.replace(WRONG, sizes=SIZES, in_training=True)
    assert size_words(in_training).endswith("; in training mode")
    named = structs.replace(in_training, calling_variant=CallingVariant(mode=Mode.TRAINING))
    assert "in training mode" in sentence(named)
    assert "in training mode" not in size_words(named)


def test_unusual_inputs_are_named_if_the_action_does_not_name_them() -> None:
    large = structs.replace(WRONG, action="", has_extreme_numbers=True)
    assert size_words(large) == "with unusually large inputs"
    assert size_words(structs.replace(large, action="with inputs 1e+16 times as large")) == ""
