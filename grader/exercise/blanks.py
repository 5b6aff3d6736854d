"""What `python -m grader new` leaves for the instructor to fill in."""

from collections.abc import Iterator
from typing import Any

BLANK = "FILL IN"
"""How a value begins that nobody has filled in yet; what belongs there follows in parentheses."""


def blank(what: str) -> str:
    """A value to be filled in."""
    return f"{BLANK} ({what})"


def still_blank(data: Any, at: str = "$") -> Iterator[tuple[str, str]]:
    """Paths in plain data at which nothing has been filled in, each with what belongs there."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from still_blank(value, f"{at}.{key}")
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from still_blank(value, f"{at}[{index}]")
    elif isinstance(data, str) and data.lstrip().startswith(BLANK):
        yield at, data.strip().removeprefix(BLANK).strip().removeprefix("(").removesuffix(")")
