"""The call of the second card in words."""

import pytest
from msgspec import structs

from grader.checks.outcome import FailureKind
from grader.spec.loading import load_exercise
from grader.spec.properties import MatchesReference
from grader.student.call_words import advice_without_values, call_words
from grader.student.evidence import StoredCall, ordinary_requests


def call_of(exercise, check):
    requests = ordinary_requests(exercise, check, exercise.fixed_sizes_of(check)[1], "7/ordinary")
    return StoredCall(requests=[*requests])


def test_a_call_of_a_module_names_its_arguments_its_mode_and_its_inputs(course):
    exercise = load_exercise(course.description("exercise_27"))
    built = "The call: CalmNetwork(width=3, hidden=5, decay=0.8) in"
    check = MatchesReference(id="values")
    assert call_words(exercise, call_of(exercise, check)) == f"{built} evaluation mode, with x [1, 3] float32."
    check = structs.replace(check, training=True)
    assert call_words(exercise, call_of(exercise, check)) == f"{built} training mode, with x [1, 3] float32."
    check = structs.replace(check, method="follow")
    assert call_words(exercise, call_of(exercise, check)) == f"{built} training mode, method follow, with no inputs."


def test_a_call_of_a_function_has_no_mode(course):
    exercise = load_exercise(course.description("exercise_34"))
    words = call_words(exercise, call_of(exercise, MatchesReference(id="values")))
    assert words.startswith("The call: likely_words, with ")
    assert "mode" not in words


@pytest.mark.parametrize("kind", [FailureKind.NOT_REFUSED, FailureKind.PRINTS, FailureKind.ATTRIBUTE])
def test_a_failure_without_wrong_values_leads_to_the_next_card(kind):
    advice = advice_without_values(kind, "python -m grader try exercise_05")
    assert "so every value may be right. Press Enter to go on, or repeat the check: python -m grader try" in advice
    assert advice_without_values(kind, "").endswith("Press Enter to go on.")
    assert advice_without_values(FailureKind.VALUES, "python -m grader try exercise_05") == ""
