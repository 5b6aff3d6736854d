"""The examples of claims in a guided hunt: values for which the forms make sense."""

import pytest

from grader.report.guide import ListedValue, example_of, forms_with
from grader.spec.loading import load_exercise
from tests.support.paths import ROOT


def value(line: int, name: str, shape: list[int] | None, kind: str = "float32", function: str = "forward"):
    return ListedValue(function=function, line=line, name=name, described="", type=kind, shape=shape)


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
