"""The assessment of a model's answer."""

from typing import Any

from msgspec import Struct


class Assessment(Struct, frozen=True, kw_only=True):
    """The assessment of an answer."""

    value: float | None
    """The reward, from 0 to 1; None if the kit could not judge."""
    feedback: str
    """What a model may read before it answers again: findings, but no name of a defect."""
    code: str
    """The code that was found in the answer; for predictions and claims, the answer."""
    record: dict[str, Any]
    """The verdict, the result of the trap or the findings as plain data. It gives answers away: show it to no model."""
