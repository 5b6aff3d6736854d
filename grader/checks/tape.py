"""A tape: the requests of a check at its failing size case, so that `try` can repeat them."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from grader.sandbox.protocol import Request


class Step(Struct, frozen=True, kw_only=True):
    """A request to the worker, and what the proxy made of its reply."""

    request: Request
    values: list[Any] = []
    """The values of its calls, in order."""
    gradients: dict[str, Any] = {}
    """The gradients of the parameters and, by the names of the inputs, of the inputs."""


class Tape:
    """The requests since the last size case began."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def note_request(self, request: Request) -> None:
        """Add a request."""
        self.steps = [*self.steps, Step(request=request)]

    def note_value(self, value: Any) -> None:
        """Add a value to the last request's."""
        self._change_last(lambda last: structs.replace(last, values=[*last.values, value]))

    def note_gradients(self, gradients: dict[str, Any]) -> None:
        """Add gradients to the last request."""
        self._change_last(lambda last: structs.replace(last, gradients=gradients))

    def _change_last(self, change: Callable[[Step], Step]) -> None:
        if self.steps:
            self.steps = [*self.steps[:-1], change(self.steps[-1])]


class FailedCheck(Struct, frozen=True, kw_only=True):
    """How one check failed: its error, and the requests at the failing size case."""

    check: str
    error: Exception
    steps: list[Step]
    seeds: list[int]
    """The seeds from which inputs may have been drawn."""
