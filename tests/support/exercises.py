"""Exercises for tests, with nothing in them but what a test needs."""

from typing import Any

from grader.spec.exercise import Exercise, Source
from grader.spec.interface import Interface


def make_exercise(class_name: str, **fields: Any) -> Exercise:
    """Return an exercise about a class without arguments and inputs; `fields` replace or add fields."""
    usual = {
        "id": "exercise_90",
        "format_version": 1,
        "title": "A hunt",
        "difficulty": 1,
        "source": Source(title="s"),
        "story": "s",
        "interface": Interface(class_name=class_name, constructor={}, inputs={}, outputs=[]),
        "sizes": [{}],
        "defects": [],
        "nothing_else_broke": 3,
        "checks": [],
    }
    return Exercise(**(usual | fields))
