"""The size cases at which a check runs, and those that a finding names."""

import pytest
from msgspec import structs

from grader.checks.case import make_integers, seed_draws
from grader.checks.outcome import Status
from grader.checks.runner import Runner
from grader.checks.size_cases import size_cases_of
from grader.report.findings import comparison_words, sentence
from grader.spec.exercise import Limits, Seconds
from grader.spec.fields import MadeInput
from grader.spec.loading import load_exercise
from grader.submission import submission_from_text
from grader.verdict.verdict import Result
from tests.support.hostile import in_forward, reference
from tests.support.judging import SEED, Judge


def failing_where(condition: str) -> str:
    """The reference, with other outputs where the condition on `x` holds; earlier tokens see later ones."""
    return in_forward(f"if {condition}: return (self.W_value(x) + x.sum()).detach() * torch.ones(1)", reference())


def notes(judge_text: Judge, source: str, exercise_id: str = "exercise_03") -> dict[str, str]:
    verdict = judge_text(exercise_id, source)
    assert verdict.outcome is Result.NOT_FIXED
    return {
        outcome.check: comparison_words(outcome.finding.sizes)
        for outcome in verdict.checks
        if outcome.finding and outcome.finding.sizes
    }


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x.shape[1] >= 3", "wrong with tokens=3; right with tokens=1; both with batch="),
        ("x.shape[0] >= 2", "wrong with batch=2; right with batch=1; both with tokens="),
        ("x.shape[2] == 10", "wrong with batch=3, input_dim=10, output_dim=5, context_length=16; right with "),
    ],
)
def test_a_check_tried_at_the_ends_names_what_failed_and_passed(
    judge_text: Judge, condition: str, expected: str
) -> None:
    assert notes(judge_text, failing_where(condition))["future_does_not_leak"].startswith(expected)


def test_the_comparison_with_the_reference_also_runs_where_one_axis_alone_is_small(judge_text: Judge) -> None:
    seen = notes(judge_text, failing_where("x.shape[1] == 2 and x.shape[0] > 1"))
    ends = "wrong with tokens=2, context_length=4; right with tokens=7, context_length=16"
    assert seen["values"] == f"{ends}; both with batch=3, input_dim=10, output_dim=5"
    seen = notes(judge_text, failing_where("x.shape[1] > 2 and x.shape[0] == 2 and x.shape[2] == 10"))
    common = "tokens=7, input_dim=10, output_dim=5, context_length=16"
    assert seen["values"] == f"wrong with batch=2; right with batch=3; both with {common}"


def test_edges_are_within_the_sizes_that_the_exercise_allows(judge_text: Judge) -> None:
    exercise = load_exercise(judge_text.course.description("exercise_31"))
    plan = size_cases_of(exercise.checks[0], exercise, SEED)
    smallest, largest = exercise.fixed_sizes[0], exercise.fixed_sizes[-1]
    assert [each.sizes for each in plan.edges] == [largest | {"game": 1}, largest | {"game": 2}]  # after: step + 1
    assert smallest not in [each.sizes for each in plan.edges]
    own_sizes = next(check for check in exercise.checks if check.sizes)
    assert not size_cases_of(own_sizes, exercise, SEED).edges


def test_sizes_are_those_of_the_call_and_what_the_module_was_built_with_is_told(judge_text: Judge) -> None:
    """`window=8` stands in the sizes of exercise_22, and one check builds all its modules with a window of 1."""
    text = judge_text.variant("exercise_22", frozenset())
    entry = load_exercise(judge_text.course.description("exercise_22")).interface.entry()
    fault = "lambda self, x: _forward(self, x) * (float('nan') if self.window == 1 else 1.0)"
    verdict = judge_text("exercise_22", f"{text}\n_forward = {entry}.forward\n{entry}.forward = {fault}\n")
    seen = {
        outcome.check: comparison_words(outcome.finding.sizes)
        for outcome in verdict.checks
        if outcome.finding and outcome.finding.sizes
    }
    assert seen == {
        "values_with_one_key_head": "fails even at batch=1, words=1, dim=12, n_heads=1, "
        "built with n_kv_heads=1, window=1"
    }


def test_what_the_module_was_built_with_is_told_beside_right_sizes(judge_text: Judge) -> None:
    text = judge_text.variant("exercise_17", frozenset({"flag-stops-at-one-backend"}))
    seen = notes(judge_text, text, "exercise_17")
    found = [each for each in seen.values() if "; right with " in each]
    assert found
    assert all(each.endswith("; built with scale_scores=False, backend=fused") for each in found)


def test_the_own_inputs_of_a_check_are_named(judge_text: Judge) -> None:
    text = judge_text.variant("exercise_16", frozenset({"nan-replaced-too-late"}))
    seen = notes(judge_text, text, "exercise_16")
    assert seen["values_beside_an_empty_page"].endswith("; real has a row that hides everything")
    text = judge_text.variant("exercise_29", frozenset({"mean-of-each-piece"}))
    assert notes(judge_text, text, "exercise_29")["keeps_dtype_of_a_part"].endswith("; counted=50")


def test_calls_in_turn_tell_no_size_that_each_call_has_for_itself(judge_text: Judge) -> None:
    text = judge_text.variant("exercise_28", frozenset({"folded-without-scale"}))
    seen = {each.check: each.finding for each in judge_text("exercise_28", text).checks if each.finding}
    assert "called with batch=3, then fold(), then with batch=4" in sentence(seen["values_once_folded"])
    assert comparison_words(seen["values_once_folded"].sizes) == "fails even at n_in=6, n_out=5, rank=2"


def test_a_fault_in_between_is_seen_by_the_comparison_with_the_reference(judge_text: Judge) -> None:
    seen = notes(judge_text, failing_where("x.shape[:2] == (2, 7)"))
    assert seen["values"].startswith("wrong with tokens=7; right with tokens=3")
    assert "future_does_not_leak" not in seen


def test_a_worker_that_hangs_at_the_upper_end_is_not_asked_in_between(judge_text: Judge) -> None:
    """The check is tried alone, for a submission that hung twice in others is not tried once more."""
    exercise = load_exercise(judge_text.course.description("exercise_03"))
    limits = structs.replace(Limits(), seconds=Seconds(load=5.0, check=0.6, total=30.0))
    source = submission_from_text(in_forward("while x.shape[2] == 10: pass", reference()))

    with Runner(judge_text.course, exercise, judge_text.source) as runner:
        runner.exercise = structs.replace(exercise, limits=limits)
        (hung,) = runner.examine(source, SEED, only={"future_does_not_leak"}).outcomes
    assert hung.status is Status.TIMED_OUT
    assert hung.finding is not None
    assert hung.finding.sizes is not None
    assert hung.finding.sizes.failed["input_dim"] == 10


@pytest.mark.parametrize(("is_inclusive", "largest"), [(False, 4), (True, 5)])
def test_whole_numbers_go_from_the_smallest_to_the_largest_with_it_where_that_is_said(
    is_inclusive: bool, largest: int
) -> None:
    spec = MadeInput(shape=["batch"], integers="tokens", start=1, inclusive=is_inclusive)
    for batch in (2, 3, 50):
        seed_draws(f"whole numbers of {batch}")
        numbers = make_integers(spec, {"batch": batch, "tokens": 5})
        assert (int(numbers.min()), int(numbers.max())) == (1, largest)
    assert make_integers(spec, {"batch": 3, "tokens": 1}).tolist() == [1, 1, 1]
