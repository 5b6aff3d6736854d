"""What is tried of which exercise, where a test is about all of them."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from tests.support.paths import ROOT

T = TypeVar("T")

EXAMPLE = "exercise_03"
"""The exercise that most tests are about."""

PARTS = (0, 1, 2)
"""What is tried on an exercise is dealt out to so many parts."""


def first_of_each_kind(exercise_ids: Iterable[str]) -> list[str]:
    """The example, and of every other kind of subject and of the decoys the first."""
    course, found = Course(ROOT), {}
    for exercise_id in sorted(exercise_ids, key=lambda each: (each != EXAMPLE, each)):
        exercise = load_exercise(course.description(exercise_id))
        found.setdefault((exercise.interface.kind_name, not exercise.defects), exercise_id)
    return [*found.values()]


def sampled(exercise_ids: Iterable[str], also: Iterable[str] = ()) -> list[object]:
    """All of them as parameters; all but the first of each kind and `also` are slow."""
    known = [*exercise_ids]
    quick = {*first_of_each_kind(known), *also}
    return [pytest.param(each, marks=[pytest.mark.slow] * (each not in quick)) for each in known]


def sampled_in_parts(exercise_ids: Iterable[str]) -> list[object]:
    """Exercises with the parts of theirs to try; all but the first part of the first of each kind is slow."""
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
    """Those of them that are in these parts."""
    return [thing for place, thing in enumerate(things) if place % len(PARTS) in numbers]


def others_slow(values: Iterable[object]) -> list[object]:
    """All of them as parameters, of which all but the first are slow."""
    return [pytest.param(each, marks=[pytest.mark.slow] * (number > 0)) for number, each in enumerate(values)]


def dealt(seeds: tuple[int, ...], exercise_id: str) -> int:
    """The seed that falls to an exercise, where several share what is tried at each seed."""
    return seeds[_number(exercise_id) % len(seeds)]


def share(things: dict[str, T], exercise_id: str, parts: int) -> dict[str, T]:
    """Of what is tried on every exercise, the part that falls to this one: each thing is tried on some."""
    return {name: things[name] for name in [*things][_number(exercise_id) % parts :: parts]}


def in_parts(things: dict[str, T], parts: int = 3) -> list[object]:
    """Parts of them as parameters, of which all but the first are slow."""
    dealt_out = [{name: things[name] for name in [*things][part::parts]} for part in range(parts)]
    return [
        pytest.param(part, id=f"{number} of {parts}", marks=[pytest.mark.slow] * (number > 1))
        for number, part in enumerate(dealt_out, start=1)
    ]


def telling_subsets(exercise: Exercise) -> list[frozenset[str]]:
    """No defect, each alone, and all; what lies between is a proof's to judge."""
    sizes = {0, 1, len(exercise.defects)}
    return [subset for subset in exercise.subsets() if len(subset) in sizes]


def _number(exercise_id: str) -> int:
    return int(exercise_id.rpartition("_")[2])
