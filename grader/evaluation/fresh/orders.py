"""Requests to the process that makes fresh hunts, and its answers."""

from msgspec import Struct


class Order(Struct, frozen=True, kw_only=True):
    """The hunts to make: of one seed, from some exercises of a course, in a folder."""

    root: str
    folder: str
    seed: int
    bases: list[str]


class Report(Struct, frozen=True, kw_only=True):
    """The hunt that was written, or the error. `counts` counts this process's drafts so far, by how they ended."""

    exercise: str = ""
    counts: dict[str, int] = {}
    error: str = ""


def exercise_id_of(number: int) -> str:
    """Return the id of the hunt with this number."""
    return f"exercise_{number:02d}"
