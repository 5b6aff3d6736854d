"""The examples of claims in a guided hunt: values for which the forms make sense."""

import pytest

from grader.report.guide import (
    CallError,
    ListedCall,
    ListedValue,
    example_of,
    forms_with,
    question_lines,
    value_lines,
)
from grader.report.page import render_page
from grader.spec.loading import load_exercise
from grader.student.evidence import named_returns
from tests.support.paths import ROOT


def value(line: int, name: str, shape: list[int] | None, kind: str = "float32", function: str = "forward", **counts):
    described = str(shape) if shape else ""
    return ListedValue(function=function, line=line, name=name, described=described, type=kind, shape=shape, **counts)


VALUES = [
    value(9, "rows", [3, 5, 6]),
    value(10, "index", [3, 1], "int64"),
    value(11, "self.mask", [5, 5], "bool"),
    value(12, "split.part", [3, 5, 6], function="split"),
    value(13, "hidden", [3, 5, 6]),
    value(14, "scores", [3, 5, 5]),
    value(15, "attention_weights", [3, 5, 5]),
    value(0, "norm.weight", [6], function=""),
]


@pytest.fixture
def forms():
    exercise = load_exercise(ROOT / "solutions" / "exercise_24" / "exercise.yaml")
    return dict(forms_with(example_of(exercise, VALUES)))


@pytest.mark.parametrize(
    "claim",
    [
        "hidden unchanged 14",
        "hidden equals rows",
        "hidden shape 3 5 6",
        "attention_weights sums_to_one",
        "self.mask symmetric",
        "hidden dtype float32",
        "hidden depends rows",
        "norm.weight no_gradient",
    ],
)
def test_each_form_has_a_value_that_it_fits(forms, claim):
    assert claim in forms


def test_a_call_with_a_single_value_has_examples_too():
    exercise = load_exercise(ROOT / "solutions" / "exercise_24" / "exercise.yaml")
    forms = dict(forms_with(example_of(exercise, [value(9, "x", None, "float")])))
    assert {"x equals 0.5", "x dtype float", "x depends rows"} <= forms.keys()


def test_no_example_is_a_claim_that_makes_no_sense():
    exercise = load_exercise(ROOT / "solutions" / "exercise_24" / "exercise.yaml")
    values = [value(9, "rows", [1]), value(40, "mine", [1]), value(41, "returned[0]", [1])]
    forms = dict(forms_with(example_of(exercise, values)))
    assert {"NAME sums_to_one", "NAME symmetric", "mine depends rows", "mine unchanged 41"} <= forms.keys()


def test_values_are_listed_with_small_numbers_runs_and_the_exception():
    rows = [
        value(9, "rows", [3], numbers="1, 2, 3", line_runs=2, function_runs=2),
        value(11, "total", None, "int", line_runs=6, function_runs=2),
    ]
    error = CallError(type="ValueError", message="too short", line=12)
    page = render_page(value_lines(ListedCall(values=rows, error=error), ["note"]), 80, color=False)
    assert page.splitlines() == [
        "note",
        "in forward (runs 2 times; the last one is shown)",
        "     9  rows                 [3] float32: 1, 2, 3",
        "    11  total                 int (last of 6 runs)",
        "The call ends at line 12 with ValueError: too short",
    ]


def test_what_an_inner_function_returned_has_its_name_in_front():
    rows = [value(9, "returned[0]", None, "float", "slopes"), value(20, "returned", [3])]
    assert [each.name for each in named_returns(rows, None)] == ["slopes.returned[0]", "returned"]
    error = CallError(type="ValueError")
    assert [each.name for each in named_returns(rows[:1], error)] == ["slopes.returned[0]"]


def test_the_lines_of_an_option_begin_in_one_column():
    page = render_page(question_lines("Which?", ["word " * 30]), 80, color=False).splitlines()
    first, second = page[-2:]
    assert first.index("word") == second.index("word") == 5
