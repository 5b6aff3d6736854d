"""Tensors against tensors: type, shape and dtype first, then finite values, then values."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from msgspec import Struct

from grader.checks import explanations, pictures
from grader.checks.outcome import Picture
from grader.checks.pictures import GRADIENTS, NEGLIGIBLE, Gradients
from grader.sandbox.protocol import Other
from grader.sandbox.text import as_index, excerpt

FEWEST_DIGITS = 3
MOST_DIGITS = 17
"""As many digits tell any two numbers of float64 apart."""

NO_GRADIENT = "no-gradient"
"""The kind of failure in which a parameter gets none."""


class Failure(AssertionError):  # noqa: N818 - a failure is what it is: AssertionError is its kind of error
    """A property does not hold. `kind` is the sort of fault; the message says what was done, expected and seen.

    Where values are wrong, `picture` is what can be drawn of them, and `explanation` says in which way they are wrong
    where that was verified. `saw` is what a matching variant has to show too: how far a whole tensor is off, or
    words of the
    kit's own; None where the kind says all. `pictured` is what the picture was compared as, `wrong` what is most off.
    """

    pictured = ""
    wrong: pictures.WrongElement | None = None

    def __init__(
        self, kind: str, text: str, picture: Picture | None = None, explanation: str = "", *, saw: Any = None
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.picture = picture
        self.explanation = explanation
        self.saw = saw


def number(value: float) -> str:
    """A number as findings show it."""
    return f"{value:.{FEWEST_DIGITS}g}"


def numbers(expected: float, seen: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart; whole ones with all of theirs."""
    if expected.is_integer() and seen.is_integer() and max(abs(expected), abs(seen)) < 10**MOST_DIGITS:
        return f"{expected:.0f}", f"{seen:.0f}"
    digits = FEWEST_DIGITS
    while digits < MOST_DIGITS and f"{expected:.{digits}g}" == f"{seen:.{digits}g}":
        digits += 1
    return f"{expected:.{digits}g}", f"{seen:.{digits}g}"


class Advice(UserWarning):
    """Something to be told that costs nothing: `warnings.warn(Advice(text))` leaves a check as it is."""


class Tolerance(Struct, frozen=True):
    """How far two values of the same quantity may lie apart."""

    relative: float
    absolute: float
    of_largest: float = 0.0
    """A share of the largest value of a tensor, beside the absolute one."""

    def for_values(self, expected: torch.Tensor) -> "Tolerance":
        """The same without a share of the largest value that is a number; whole numbers are compared as such."""
        if not (expected.is_floating_point() or expected.is_complex()):
            return WHOLE
        if not self.of_largest or not (finite := expected[expected.isfinite()]).numel():
            return self
        return Tolerance(self.relative, self.absolute + self.of_largest * float(finite.abs().max()))


FLOAT32 = Tolerance(1e-4, 1e-5)
"""Different right ways to compute attention in float32 lie within about 2e-6 of each other at these sizes."""

FLOAT32_GRADIENT = Tolerance(1e-3, 5e-5)
FLOAT64 = Tolerance(1e-9, 1e-10)
UNCHANGED = Tolerance(0.0, 1e-6)
WHOLE = Tolerance(0.0, 0.5)  # of whole numbers, which are the same or are not
LOUD = Tolerance(0.0, 0.0, of_largest=1e-2)
"""Scores of thousands are rounded to a thousandth, and weights of keys that lie close are off by as much."""


def compare(seen: Any, expected: Any, what: str, tolerance: Tolerance = FLOAT32, parts: Sequence[str] = ()) -> None:
    """Raise `Failure` unless `seen` has the form and the values of `expected`; `parts` names the values of several."""
    if isinstance(expected, tuple | list | dict):
        require_form(seen, expected, what, parts)
        for ours, theirs, part in _pairs(seen, expected, what, parts):
            compare(ours, theirs, part, tolerance)
    elif isinstance(expected, torch.Tensor):
        require_form(seen, expected, what)
        if torch.equal(seen, expected):
            pictures.record(what, seen, expected)
            return
        if bool(torch.isfinite(expected).all()):
            require_finite(seen, what, expected)
        require_close(seen, expected, what, tolerance)
    elif isinstance(expected, float) and isinstance(seen, float | int):
        ours, theirs = torch.tensor([seen, expected], dtype=torch.float64)
        require_close(ours, theirs, what, tolerance)
    elif isinstance(seen, torch.Tensor) or seen != expected:  # tensors compare element by element
        raise Failure("values", f"{what}: expected {expected!r}, saw {describe(seen)}")


def _part(what: str, index: int, parts: Sequence[str]) -> str:
    """What one of several values is called: by its name where there is one, else by its number."""
    return what.removesuffix("output") + parts[index] if parts else f"{what} {index}"


def require_form(seen: Any, expected: Any, what: str, parts: Sequence[str] = ()) -> None:
    """Raise `Failure` unless `seen` is as many tensors, of the same shapes, dtypes and keys, as `expected`."""
    if isinstance(expected, tuple | list | dict):
        for ours, theirs, part in _pairs(seen, expected, what, parts):
            require_form(ours, theirs, part)
    elif isinstance(expected, torch.Tensor):
        require_tensor(seen, what)
        require_shape(seen, list(expected.shape), what)
        require_dtype(seen, expected.dtype, what)


def compare_gradients(seen: Gradients, expected: Gradients) -> None:
    """Raise `Failure` unless each parameter's gradient is as it should be; where one is missing, all are drawn."""
    with _drawn_gradients(seen, expected):
        for name, gradient in expected.items():
            compare_gradient(seen.get(name), gradient, name)


def require_gradients(seen: Gradients, expected: Gradients, names: Iterable[str]) -> None:
    """Raise `Failure` unless something flows back to each of the named parameters."""
    with _drawn_gradients(seen, expected):
        for name in names:
            _require_gradient(seen.get(name), name)


@contextmanager
def _drawn_gradients(seen: Gradients, expected: Gradients) -> Iterator[None]:
    try:
        yield
    except Failure as failure:
        if failure.kind == NO_GRADIENT:
            failure.picture, failure.pictured = pictures.gradients(seen, expected), GRADIENTS
        raise
    pictures.record(GRADIENTS, seen, expected)


def compare_gradient(seen: torch.Tensor | None, expected: torch.Tensor | None, what: str) -> None:
    """Raise `Failure` unless a gradient is there where it should be, with the right values."""
    if expected is not None and seen is not None and seen.dtype == expected.dtype and torch.equal(seen, expected):
        return
    if expected is None or float(expected.abs().max()) < NEGLIGIBLE:
        if seen is not None:
            require_finite(seen, f"the gradient of {what}")
        if seen is not None and float(seen.abs().max()) > 100 * NEGLIGIBLE:
            raise Failure(
                "gradient",
                f"{what} has a gradient of up to {number(float(seen.abs().max()))}; expected none",
                saw=_off_by(seen, torch.zeros_like(seen), FLOAT32_GRADIENT),
            )
        return
    _require_gradient(seen, what)
    assert seen is not None
    require_shape(seen, list(expected.shape), f"the gradient of {what}")
    require_finite(seen, f"the gradient of {what}")
    require_close(seen, expected, f"the gradient of {what}", FLOAT32_GRADIENT, kind="gradient")


def _require_gradient(seen: torch.Tensor | None, what: str) -> None:
    """Raise `Failure` where nothing flows back."""
    if seen is None or not bool((seen != 0).any()):
        raise Failure(
            NO_GRADIENT,
            f"{what} gets no gradient: expected the loss to reach it, saw {'none' if seen is None else 'zeros'}",
            saw=what,
        )


def require_tensor(seen: Any, what: str) -> None:
    if not isinstance(seen, torch.Tensor):
        raise Failure("type", f"{what}: expected a tensor, saw {describe(seen)}", saw=_form(seen))


def require_shape(seen: torch.Tensor, shape: list[int], what: str) -> None:
    if list(seen.shape) != shape:
        raise Failure("shape", f"{what}: expected shape {tuple(shape)}, saw {tuple(seen.shape)}", saw=seen.shape)


def require_dtype(seen: torch.Tensor, dtype: torch.dtype, what: str) -> None:
    if seen.dtype != dtype:
        wanted, found = (str(each).removeprefix("torch.") for each in (dtype, seen.dtype))
        raise Failure("dtype", f"{what}: expected dtype {wanted}, saw {found}", saw=found)


def require_finite(seen: torch.Tensor, what: str, expected: torch.Tensor | None = None) -> None:
    """Raise `Failure` at the first element that is no finite number; drawn beside what was expected, where given."""
    bad = ~torch.isfinite(seen)
    if bool(bad.any()):
        first: list[int] = bad.nonzero()[0].tolist()
        value = float(seen[tuple(first)])
        count = f"{int(bad.sum())} of {bad.numel()} elements are not finite"
        text = f"{what} at {as_index(first)}: expected a finite number, saw {value}; {count}"
        picture = None if expected is None else pictures.values(seen, expected, first)
        off_by = _off_by(seen, torch.zeros_like(seen) if expected is None else expected, FLOAT32)
        failure = Failure("nonfinite", text, picture, saw=off_by)
        failure.pictured = what
        raise failure


def require_close(
    seen: torch.Tensor, expected: torch.Tensor, what: str, tolerance: Tolerance, kind: str = "values"
) -> None:
    """Raise `Failure` at the element that is furthest off."""
    tolerance = tolerance.for_values(expected)
    if torch.allclose(seen, expected, tolerance.relative, tolerance.absolute, equal_nan=True):
        pictures.record(what, seen, expected)
        return
    is_alike = (seen == expected) | (seen.isnan() & expected.isnan())
    difference = (seen.double() - expected.double()).abs().masked_fill(is_alike, 0.0)
    off = difference > tolerance.absolute + tolerance.relative * expected.abs()
    worst = pictures.place_of_largest(difference.nan_to_num(torch.inf))
    theirs, ours = numbers(float(expected[tuple(worst)]), float(seen[tuple(worst)]))
    where = f" at {as_index(worst)}" if worst else ""
    count = f"; {int(off.sum())} of {off.numel()} elements are off" if worst else ""
    failure = Failure(
        kind,
        f"{what}{where}: expected {theirs}, saw {ours}{count}",
        pictures.values(seen, expected, worst),
        explanations.explain(seen, expected, tolerance.relative, tolerance.absolute),
        saw=_off_by(seen, expected, tolerance),
    )
    failure.pictured, failure.wrong = what, pictures.WrongElement(seen, worst, theirs)
    raise failure


def _off_by(seen: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """How far every element is off, in multiples of what is tolerated; two right ways to compute it lie within one."""
    expected = expected.double()
    return ((seen.double() - expected) / (tolerance.absolute + tolerance.relative * expected.abs())).float()


def describe(value: Any) -> str:
    """What was returned, in a few words."""
    if isinstance(value, Other):
        return value.description
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list | dict):  # not as it shows itself: that of a thousand tensors takes half a second
        return f"a {type(value).__name__} of {len(value)}"
    return f"{value!r}"[:80]


def _pairs(seen: Any, expected: Any, what: str, parts: Sequence[str]) -> list[tuple[Any, Any, str]]:
    """What was seen for each of several values, with its name; `Failure` unless there are as many by the same keys."""
    if isinstance(expected, dict):
        wanted = f"the keys {excerpt(', '.join(map(str, expected)))}"
        if isinstance(seen, dict) and seen.keys() == expected.keys():
            return [(seen[key], theirs, f"{what} {key}") for key, theirs in expected.items()]
    else:
        wanted = f"{len(expected)} values"
        if isinstance(seen, tuple | list) and len(seen) == len(expected):
            named = [_part(what, index, parts) for index in range(len(expected))]
            return list(zip(seen, expected, named, strict=True))
    raise Failure("type", f"{what}: expected {wanted}, saw {describe(seen)}", saw=_form(seen))


def _form(value: Any) -> str:
    """The sort of a value, without what the submission wrote into it."""
    return type(value).__name__ + (f" of {len(value)}" if isinstance(value, tuple | list | dict) else "")
