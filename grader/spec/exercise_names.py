"""The names of exercises: ids, and what people write for them.

The client of the warm process reads names too, so this module imports only `re`.
"""

import re

ID_PATTERN = r"exercise_\d{2,9}"
NAME_PATTERN = r"exercise[ _-]?\d{1,9}"
"""A name that people write for an exercise, in any case: `exercise_03`, `Exercise 3`, `exercise-3`."""

NAME_OR_NUMBER_PATTERN = r"(?:exercise[ _-]?)?\d{1,9}"

EXERCISE_ID = re.compile(ID_PATTERN)
EXERCISE_NAME = re.compile(NAME_PATTERN, re.IGNORECASE)
NAME_OR_NUMBER = re.compile(NAME_OR_NUMBER_PATTERN, re.IGNORECASE)


def exercise_number(name: str) -> int:
    """Return the number in an exercise's id or name. As a sort key, it puts exercise_100 after exercise_11."""
    return int(re.sub(r"\D", "", name))


def exercise_id_of(number: int) -> str:
    """Return the id of the exercise with this number."""
    return f"exercise_{number:02}"
