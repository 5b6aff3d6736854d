"""Requests to the process that makes fresh hunts, and its answers."""

from msgspec import Struct


class Order(Struct, frozen=True, kw_only=True):
    """The hunts to make: of one seed, from some exercises of a course, in a folder."""

    root: str
    folder: str
    seed: int
    bases: list[str]


class Report(Struct, frozen=True, kw_only=True):
    """The hunt that was written. `dropped` counts the drafts that were dropped so far, by the reason."""

    exercise: str
    dropped: dict[str, int]
