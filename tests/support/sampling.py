"""Parameters for tests of every exercise: what to try on which exercise, and what is slow."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from tests.support.paths import ROOT

T = TypeVar("T")

EXAMPLE = "exercise_03"
"""The exercise that most tests use."""

PARTS = (0, 1, 2, 3, 4, 5)
"""The number of parts into which the cases of an exercise are divided."""


def first_of_each_kind(exercise_ids: Iterable[str]) -> list[str]:
    """Return the example, the first exercise of every other kind of subject, and the first decoy."""
    course, found = Course(root=ROOT), {}
    for exercise_id in sorted(exercise_ids, key=lambda each: (each != EXAMPLE, each)):
        exercise = load_exercise(course.description(exercise_id))
        found.setdefault((exercise.interface.kind_name, not exercise.defects), exercise_id)
    return [*found.values()]


def sampled(exercise_ids: Iterable[str], also: Iterable[str] = ()) -> list[object]:
    """Return all exercises as parameters. Those that are neither the first of a kind nor in `also` are slow."""
    known = [*exercise_ids]
    quick = {*first_of_each_kind(known), *also}
    return [pytest.param(each, marks=[pytest.mark.slow] * (each not in quick)) for each in known]


def sampled_in_parts(exercise_ids: Iterable[str]) -> list[object]:
    """Return each exercise with the parts to try. All except the first part of each kind's first exercise are slow."""
    params, known = [], [*exercise_ids]
    quick = first_of_each_kind(known)
    for each in known:
        first, others = PARTS[:1], PARTS[1:]
        if each in quick:
            params.append(pytest.param(each, first, id=f"{each}, a part"))
            params.append(pytest.param(each, others, id=f"{each}, the other parts", marks=[pytest.mark.slow]))
        else:
            params.append(pytest.param(each, PARTS, id=each, marks=[pytest.mark.slow]))
    return params


def of_parts(things: Sequence[T], numbers: tuple[int, ...]) -> list[T]:
    """Return the items that belong to these parts."""
    return [thing for place, thing in enumerate(things) if place % len(PARTS) in numbers]


def others_slow(values: Iterable[object]) -> list[object]:
    """Return all items as parameters, a tuple as a row of several; all except the first are slow."""
    rows = [each if isinstance(each, tuple) else (each,) for each in values]
    return [pytest.param(*row, marks=[pytest.mark.slow] * (number > 0)) for number, row in enumerate(rows)]


def seed_for(seeds: tuple[int, ...], exercise_id: str) -> int:
    """Return the exercise's seed, for tests that divide the seeds among the exercises."""
    return seeds[_number(exercise_id) % len(seeds)]


def share(things: dict[str, T], exercise_id: str, parts: int) -> dict[str, T]:
    """Return the exercise's part of the items, for tests that divide them among the exercises."""
    return {name: things[name] for name in [*things][_number(exercise_id) % parts :: parts]}


def in_parts(things: dict[str, T], parts: int = 3) -> list[object]:
    """Return the items in parts as parameters; all except the first part are slow."""
    dealt_out = [{name: things[name] for name in [*things][part::parts]} for part in range(parts)]
    return [
        pytest.param(part, id=f"{number} of {parts}", marks=[pytest.mark.slow] * (number > 1))
        for number, part in enumerate(dealt_out, start=1)
    ]


def subsets_to_judge(exercise: Exercise) -> list[frozenset[str]]:
    """Return the subsets with no defect, each single defect and all. A proof judges the remaining subsets."""
    sizes = {0, 1, len(exercise.defects)}
    return [subset for subset in exercise.subsets() if len(subset) in sizes]


def _number(exercise_id: str) -> int:
    return int(exercise_id.rpartition("_")[2])
