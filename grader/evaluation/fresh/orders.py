"""What is asked of the process that makes fresh hunts, and what it answers."""

from msgspec import Struct


class Order(Struct, frozen=True, kw_only=True):
    """What the process is to make: hunts of one seed, from some exercises of a course, in a folder."""

    root: str
    folder: str
    seed: int
    bases: list[str]


class Report(Struct, frozen=True, kw_only=True):
    """The hunt that was written, or the error. `counts` counts the drafts of this process until now by their end."""

    exercise: str = ""
    counts: dict[str, int] = {}
    error: str = ""


def exercise_id_of(number: int) -> str:
    """Return the id of the hunt of a number."""
    return f"exercise_{number:02d}"
