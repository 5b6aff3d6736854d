"""Names of checks on students' pages give no answer away."""

from grader.report.check_names import LISTED_WHOLE, check_names, listed_checks
from grader.spec.loading import load_exercise


def test_a_check_is_named_after_what_it_compares_and_equal_names_are_numbered(course):
    names = check_names(load_exercise(course.description("exercise_03")))
    assert names["values"] == "values"
    assert names["values_with_bias"] == "values 2"
    assert names["refuses_long_sequences"] == "errors"
    assert names["has_the_layer_dropout"] == "attributes"
    assert names["future_does_not_leak"] == "future does not leak"


def test_no_name_is_the_authors_own(course):
    for exercise_id in course.exercise_ids():
        exercise = load_exercise(course.description(exercise_id))
        names = check_names(exercise)
        assert len({*names.values()}) == len(exercise.checks)
        own = {check.id for check in exercise.checks} - {
            str(type(check).__struct_config__.tag) for check in exercise.checks
        }
        assert not {names[check].replace(" ", "_") for check in own} & (own - {"values", "attributes", "errors"}), (
            exercise_id
        )


def test_a_list_names_each_check_once_and_shortens_long_lists():
    names = {str(number): f"values {number}" for number in range(LISTED_WHOLE + 1)}
    assert listed_checks(["test_one", "test_two"], names) == '"custom check"'
    assert listed_checks([*names], names) == '"values 0", "values 1", "values 2" and 2 more'
