"""The combinations that each run of an exercise certainly covers, and those left to chance.

    python -m tests.benchmarks.coverage [--long] [exercise_NN]...

The columns count, for one run at any seed:

- checks: all that YAML names; in variants: those that also call the module in calling variants;
- calls: the calls in calling variants; pairs: how many pairs of values meet in them, of how many that can. The axes are
  the check, the size case, history, gradients, memory layout, mode, dtype, arguments by position, shared tensors;
- large: the calls with inputs sixty times as large, in which mode, gradients, dtype and layout meet in pairs;
- sizes: the largest size of each axis of the inputs.

Calls that record gradients compare them. Masks of calls in calling variants have three patterns: random, one that hides
nothing from the first sample, and one with a gap.

With `--long`, the calls are listed. Chance decides the values of inputs and weights, the sizes within the ranges of
`sizes`, and combinations of three or more values. Never compared are gradients at sizes from 1000 on, gradients of
large inputs in float32, and gradients of modules that keep statistics, in calling variants.
"""

import argparse
import itertools
from collections.abc import Iterable
from typing import Any

from grader.checks.calling_variant_choice import AXES, CallingVariantCheck, choose_calling_variants
from grader.checks.size_cases import SizeCasePlanner, size_cases_of
from grader.sandbox.calling_variants import CallingVariant, Dtype, GradientMode, History, Scale
from grader.spec.exercise import Exercise
from grader.spec.fields import names_in
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.properties import CallsInTurn
from tests.support.paths import ROOT

Call = tuple[str, Any, CallingVariant]
"""The check, the size case and the calling variant of a call."""


def calls_of(exercise: Exercise) -> list[Call]:
    """Return all calls in calling variants of a run."""
    chosen = choose_calling_variants(SizeCasePlanner(exercise).calling_variant_checks)
    return [(check, place, variant) for (check, place), variants in chosen.items() for variant in variants]


def pairs_of(calls: list[Call]) -> set[frozenset[tuple[str, Any]]]:
    """Return the pairs of values of different axes that meet in calls with inputs of the usual scale."""
    found: set[frozenset[tuple[str, Any]]] = set()
    for check, place, variant in calls:
        if variant.scale is Scale.USUAL:
            values = [("check", check), ("place", place), *((axis, getattr(variant, axis)) for axis in AXES)]
            found |= {frozenset(pair) for pair in itertools.combinations(values, 2)}
    return found


def possible_pairs(exercise: Exercise, calls: list[Call]) -> set[frozenset[tuple[str, Any]]]:
    """Return the pairs that can meet, of the values that occur in calls of the usual scale."""
    checks = SizeCasePlanner(exercise).calling_variant_checks
    axes: dict[str, set[Any]] = {"check": {check.id for check in checks}}
    axes["place"] = {place for check in checks for place in check.places}
    for axis, values in AXES.items():
        axes[axis] = {*values} & {getattr(variant, axis) for _, _, variant in calls}
    pairs = {
        frozenset(((one, value), (other, another)))
        for one, other in itertools.combinations(axes, 2)
        for value in axes[one]
        for another in axes[other]
    }
    return {pair for pair in pairs if can_meet(checks, dict(pair))}


def can_meet(checks: Iterable[CallingVariantCheck], pair: dict[str, Any]) -> bool:
    """Return whether two values can be in one call of one of these checks."""
    for check in checks:
        is_this = pair.get("check", check.id) == check.id
        has_place = pair.get("place", check.places[0]) in check.places
        place = pair.get("place")
        may_share = not pair.get("sharing") or (check.sharing if place is None else place in check.sharing)
        by_position = not pair.get("arguments") or check.by_position
        records = pair.get("gradients", GradientMode.RECORDED) is GradientMode.RECORDED
        trains = pair.get("history") is not History.INFERENCE_FIRST or records == check.trains_after_inference
        if is_this and has_place and may_share and by_position and trains:
            return not (pair.get("history") is History.CONVERTED and pair.get("dtype") is Dtype.FLOAT32)
    return False


def largest_sizes(exercise: Exercise, seed: int = 1) -> dict[str, int]:
    """Return the largest size of each axis of the inputs in any call."""
    names = set().union(*map(names_in, exercise.interface.inputs.values()))
    largest = dict.fromkeys(sorted(names), 0)
    for check in exercise.checks:
        turns = check.calls if isinstance(check, CallsInTurn) else ()
        for sizes in [*(case.sizes for case in size_cases_of(check, exercise, seed).all()), *turns]:
            largest |= {name: max(largest[name], size) for name, size in sizes.items() if name in names}
    return largest


def line(exercise: Exercise) -> str:
    """Return the line of the table about an exercise."""
    calls = calls_of(exercise)
    met, possible = pairs_of(calls), possible_pairs(exercise, calls)
    large = sum(variant.scale is Scale.LARGE for _, _, variant in calls)
    sizes = ", ".join(f"{name} {size}" for name, size in largest_sizes(exercise).items())
    in_variants = len(SizeCasePlanner(exercise).calling_variant_checks)
    columns = (
        f"checks {len(exercise.checks)}  in variants {in_variants}  calls {len(calls)}",
        f"pairs {len(met & possible)} of {len(possible)}  large {large}  sizes {sizes}",
    )
    return "  ".join((exercise.id, *columns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="list the calls")
    parser.add_argument("exercises", nargs="*")
    options = parser.parse_args()
    course = Course(root=ROOT)
    for exercise_id in options.exercises or course.exercise_ids():
        exercise = load_exercise(course.description(exercise_id))
        print(line(exercise))
        for check, place, variant in calls_of(exercise) if options.long else ():
            print(f"  {check}, size case {place}: {', '.join(variant.changes()) or 'called once more'}")


if __name__ == "__main__":
    main()
