"""Which exercises a quick run takes where a test is about all of them."""

from collections.abc import Iterable

import pytest

from grader.course.loading import load_exercise
from grader.course.paths import Course
from tests.support.paths import ROOT

EXAMPLE = "exercise_03"
"""The exercise that most tests are about."""


def sampled(exercise_ids: Iterable[str], also: Iterable[str] = ()) -> list[object]:
    """All of them as parameters; the first of each kind of subject, the first decoy and `also` are not slow."""
    course, taken, parameters = Course(ROOT), set(), []
    for exercise_id in sorted(exercise_ids, key=lambda each: (each != EXAMPLE, each)):
        exercise = load_exercise(course.description(exercise_id))
        kind = exercise.interface.kind, not exercise.defects
        is_slow = kind in taken and exercise_id not in also
        parameters.append(pytest.param(exercise_id, marks=[pytest.mark.slow] * is_slow))
        taken.add(kind)
    return parameters


def dealt(seeds: tuple[int, ...], exercise_id: str) -> int:
    """The seed that falls to an exercise, where several share what is tried at each seed."""
    return seeds[int(exercise_id.rpartition("_")[2]) % len(seeds)]
