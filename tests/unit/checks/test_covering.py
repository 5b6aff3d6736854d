"""Every two values of different axes meet in a row, in few rows."""

import itertools

import pytest

from grader.checks.calling_variant_choice import AXES, LARGE_AXES, OF_FUNCTIONS
from grader.checks.covering import covering_array
from grader.checks.size_cases import size_cases_of
from grader.sandbox.calling_variants import CallingVariant, Dtype, GradientMode, History, Scale, Sharing
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from tests.benchmarks.coverage import calls_of, pairs_of, possible_pairs
from tests.support.sampling import others_slow

Met = set[tuple[object, object]]


def all_fit(*_: int) -> bool:
    return True


@pytest.mark.parametrize("counts", [[2], [3, 2], [8, 3, 3, 2, 2, 2, 2], [5, 4, 8, 3, 3, 2, 2, 2, 2]])
def test_every_pair_meets_in_hardly_more_rows_than_the_two_longest_axes_ask_for(counts: list[int]) -> None:
    rows = covering_array(counts, all_fit)
    for one, other in itertools.combinations(range(len(counts)), 2):
        assert {(row[one], row[other]) for row in rows} == {
            *itertools.product(range(counts[one]), range(counts[other]))
        }
    *_, second, longest = sorted([*counts, 1])
    assert len(rows) <= longest * second * 1.25
    assert rows == covering_array(counts, all_fit)


def test_values_that_do_not_fit_never_share_a_row_and_the_first_rows_are_kept() -> None:
    def fits(axis: int, value: int, other: int, others_value: int) -> bool:
        return (axis, value, other, others_value) != (0, 1, 2, 0)

    rows = covering_array([2, 2, 2], fits, [{0: 1, 1: 1}])
    assert rows[0][:2] == (1, 1)
    assert all((row[0], row[2]) != (1, 0) for row in rows)
    assert {(row[1], row[2]) for row in rows} == {*itertools.product(range(2), range(2))}
    with pytest.raises(ValueError, match="no row"):
        covering_array([2, 2, 2], fits, [{0: 1, 2: 0}])


def met(variants: list[CallingVariant], place: object) -> Met:
    """The pairs of values that meet in calling variants."""
    found: Met = set()
    for variant in variants:
        values = [("place", place), *((axis, getattr(variant, axis)) for axis in AXES)]
        found |= {*itertools.combinations(values, 2)}
    return found


def wanted(axes: dict[str, list[object]]) -> Met:
    pairs: Met = set()
    for one, other in itertools.combinations(axes, 2):
        pairs |= {((one, value), (other, another)) for value in axes[one] for another in axes[other]}
    never = {
        (("history", History.CONVERTED), ("dtype", Dtype.FLOAT32)),
        (("history", History.INFERENCE_FIRST), ("gradients", GradientMode.NO_GRAD)),
        (("history", History.INFERENCE_FIRST), ("gradients", GradientMode.INFERENCE_MODE)),
    }
    return pairs - never - {pair[::-1] for pair in never}


def wanted_of_large(axes: dict[str, list[object]]) -> Met:
    """The pairs that must meet in calls with large inputs."""
    return wanted({name: axes[name] for name in LARGE_AXES})


def axes_of(exercise: Exercise) -> dict[str, list[object]]:
    """The values of each axis; a function has neither a mode nor a state."""
    axes: dict[str, list[object]] = {name: [*values] for name, values in AXES.items()}
    if exercise.interface.keyword_only:
        axes["arguments"] = axes["arguments"][:1]
    if exercise.interface.function:
        axes |= {name: [value for value in axes[name] if value in OF_FUNCTIONS] for name in ("history", "mode")}
    else:
        axes["history"].remove(History.SETTINGS)
    return axes


@pytest.mark.parametrize("exercise_id", ["exercise_01", "exercise_07", "exercise_12", "exercise_22", "exercise_30"])
def test_a_run_of_an_exercise_makes_every_pair_meet_whatever_its_seed(course: Course, exercise_id: str) -> None:
    exercise = load_exercise(course.description(exercise_id))
    assert met_in_a_run(exercise, 1) == met_in_a_run(exercise, 2)


def met_in_a_run(exercise: Exercise, seed: int) -> Met:
    """The pairs that meet in a run; asserts that these are all that can."""
    of_all: Met = set()
    large: list[CallingVariant] = []
    axes = axes_of(exercise)
    for check in exercise.checks:
        cases = size_cases_of(check, exercise, seed).all()
        of_check: Met = set()
        variants = [each for case in cases for each in case.calling_variants]
        for case in cases:
            usual = [each for each in case.calling_variants if each.scale is Scale.USUAL]
            of_check |= met(usual, case.name.partition("/")[2].partition("/")[2])
        if variants:
            large += [each for each in variants if each.scale is Scale.LARGE]
            assert large
            for axis in ("history", "gradients", "mode", "dtype", "layout"):
                assert {getattr(each, axis) for each in variants} == {*axes[axis]}, (check.id, axis)
        of_all |= of_check
    assert wanted_of_large(axes) == {
        pair
        for each in large
        for pair in itertools.combinations(((axis, getattr(each, axis)) for axis in LARGE_AXES), 2)
    }
    places = {value for pair in of_all for name, value in pair if name == "place"}
    shared = any((("sharing", Sharing.SHARED)) in pair for pair in of_all)
    if not shared:
        axes["sharing"] = [Sharing.SEPARATE]
    missing = wanted({"place": [*places], **axes}) - of_all - {pair[::-1] for pair in of_all}
    assert not {pair for pair in missing if not shared or ("sharing", Sharing.SHARED) not in pair}
    return {pair for pair in of_all if not any(name == "sharing" for name, _ in pair)}


@pytest.mark.parametrize("exercise_id", others_slow(["exercise_20", "exercise_01", "exercise_04", "exercise_29"]))
def test_no_pair_that_can_meet_is_left_to_chance(course: Course, exercise_id: str) -> None:
    """In exercise 20, training after inference is not promised, and three inputs may be one tensor."""
    exercise = load_exercise(course.description(exercise_id))
    calls = calls_of(exercise)
    assert possible_pairs(exercise, calls) <= pairs_of(calls)
