"""Failures: what a check raises when a submission does not do what it should."""


class Failure(AssertionError):  # noqa: N818 - a failure is what it is: AssertionError is its kind of error
    """A property does not hold. `kind` is the sort of fault; the message says what was done, expected and seen."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def number(value: float) -> str:
    """A number as findings show it."""
    return f"{value:.3g}"


def place(position: "tuple[int, ...] | list[int]") -> str:
    """An index as findings show it."""
    return "[" + ", ".join(map(str, position)) + "]"
