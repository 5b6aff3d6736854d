"""Compare tensors with tensors: type, shape and dtype first, then finite values, then values.

Tensors: `observed` is the submission's and `expected` the reference's; both have one shape (*S) once `require_shape`
has passed. A deviation is a tensor (*S) of differences in units of the tolerance.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from msgspec import Struct, structs

from grader.checks import explanations, pictures
from grader.checks.outcome import CallingVariant, Explanation, FailureKind, Finding, Picture, parse_kind
from grader.checks.pictures import NEGLIGIBLE, Gradients, WrongElement
from grader.sandbox.protocol import Other
from grader.sandbox.text import as_index, excerpt

FEWEST_DIGITS = 3
MOST_DIGITS = 17
"""As many digits distinguish any two numbers of float64."""


class Failure(AssertionError):  # noqa: N818 - a failure is what it is: AssertionError is its kind of error
    """A property does not hold: a finding, and what is needed to compare it with others and to draw it.

    A hidden check raises `Failure("its-own-kind", "a sentence")`; the kit's own checks give fields.

    `deviation` is what a matching variant has to show too: a tensor of differences in units of the tolerance, or words
    of the kit's own; None where the kind says all. `compared` is what the picture was compared as, and `wrong` the
    element that is furthest off.
    """

    def __init__(
        self,
        kind: FailureKind | str,
        message: str = "",
        *,
        action: str = "",
        item: str = "",
        place: str = "",
        expected: str = "",
        observed: str = "",
        elements_off: int = 0,
        elements: int = 0,
        calling_variant: CallingVariant | None = None,
        named_sizes: dict[str, int] | None = None,
        explanation: Explanation | None = None,
        picture: Picture | None = None,
        deviation: Any = None,
        compared: "Compared | None" = None,
        wrong: WrongElement | None = None,
    ) -> None:
        kind, detail = parse_kind(kind)
        if compared is not None:
            action, item = compared.action, compared.item
            calling_variant = compared.calling_variant
        self.finding = Finding(
            kind=kind,
            detail=detail,
            message=message,
            calling_variant=calling_variant,
            action=action,
            item=item,
            place=place,
            expected=expected,
            observed=observed,
            elements_off=elements_off,
            elements=elements,
            named_sizes=named_sizes or {},
            explanation=explanation,
            picture=picture,
        )
        self.deviation = deviation
        self.compared = compared
        self.wrong = wrong

    def __str__(self) -> str:
        return str(self.finding)

    def add(self, *, picture: Picture | None = None, explanation: Explanation | None = None) -> None:
        """Add a picture or an explanation to the finding."""
        self.finding = structs.replace(
            self.finding,
            picture=picture or self.finding.picture,
            explanation=explanation or self.finding.explanation,
        )


class Compared(Struct, frozen=True, kw_only=True):
    """What a comparison is about: what was done, in which calling variant, and which of the results is compared."""

    action: str = ""
    item: str = "output"
    calling_variant: CallingVariant | None = None

    def part(self, index: int, names: Sequence[str] = ()) -> "Compared":
        """Return one of several values: by its name where it has one, else by its number."""
        return structs.replace(self, item=names[index] if names else f"{self.item} {index}")


GRADIENTS = Compared(item="gradients")
"""What the gradients of all parameters are recorded as, for a picture."""


def _compared(what: Compared | str) -> Compared:
    return what if isinstance(what, Compared) else Compared(item=what)


def number(value: float) -> str:
    """Return a number as findings show it."""
    return f"{value:.{FEWEST_DIGITS}g}"


def numbers(expected: float, observed: float) -> tuple[str, str]:
    """Return two numbers with as many digits as it takes to distinguish them; whole ones with all of theirs."""
    if expected.is_integer() and observed.is_integer() and max(abs(expected), abs(observed)) < 10**MOST_DIGITS:
        return f"{expected:.0f}", f"{observed:.0f}"
    digits = FEWEST_DIGITS
    while digits < MOST_DIGITS and f"{expected:.{digits}g}" == f"{observed:.{digits}g}":
        digits += 1
    return f"{expected:.{digits}g}", f"{observed:.{digits}g}"


class Advice(UserWarning):
    """Advice that costs nothing: `warnings.warn(Advice(text))` shows it and does not fail the check."""


class Tolerance(Struct, frozen=True, kw_only=True):
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
        absolute = self.absolute + self.of_largest * float(finite.abs().max())
        return Tolerance(relative=self.relative, absolute=absolute)


FLOAT32 = Tolerance(relative=1e-4, absolute=1e-5)
"""Different right ways to compute attention in float32 lie within about 2e-6 of each other at these sizes."""

FLOAT32_GRADIENT = Tolerance(relative=1e-3, absolute=5e-5)
FLOAT64 = Tolerance(relative=1e-9, absolute=1e-10)
UNCHANGED = Tolerance(relative=0.0, absolute=1e-6)
WHOLE = Tolerance(relative=0.0, absolute=0.5)  # of whole numbers, which are the same or are not
LARGE_INPUTS = Tolerance(relative=0.0, absolute=0.0, of_largest=1e-2)
"""Scores of thousands are rounded to a thousandth, and weights of keys that lie close are off by as much."""


def compare(
    observed: Any,
    expected: Any,
    what: Compared | str,
    tolerance: Tolerance = FLOAT32,
    parts: Sequence[str] = (),
) -> None:
    """Raise `Failure` unless `observed` has the form and values of `expected`; `parts` names the values of several."""
    compared = _compared(what)
    if isinstance(expected, tuple | list | dict):
        require_form(observed, expected, compared, parts)
        for ours, theirs, part in _pairs(observed, expected, compared, parts):
            compare(ours, theirs, part, tolerance)
    elif isinstance(expected, torch.Tensor):
        require_form(observed, expected, compared)
        if torch.equal(observed, expected):
            pictures.record(compared, observed, expected)
            return
        if bool(torch.isfinite(expected).all()):
            require_finite(observed, compared, expected)
        require_close(observed, expected, compared, tolerance)
    elif isinstance(expected, float) and isinstance(observed, float | int):
        ours, theirs = torch.tensor([observed, expected], dtype=torch.float64)
        require_close(ours, theirs, compared, tolerance)
    elif isinstance(observed, torch.Tensor) or observed != expected:  # tensors compare element by element
        raise Failure(FailureKind.VALUES, compared=compared, expected=f"{expected!r}", observed=describe(observed))


def require_form(observed: Any, expected: Any, what: Compared | str, parts: Sequence[str] = ()) -> None:
    """Raise `Failure` unless `observed` is as many tensors, of the same shapes, dtypes and keys, as `expected`."""
    compared = _compared(what)
    if isinstance(expected, tuple | list | dict):
        for ours, theirs, part in _pairs(observed, expected, compared, parts):
            require_form(ours, theirs, part)
    elif isinstance(expected, torch.Tensor):
        require_tensor(observed, compared)
        require_shape(observed, list(expected.shape), compared)
        require_dtype(observed, expected.dtype, compared)


def compare_gradients(observed: Gradients, expected: Gradients) -> None:
    """Raise `Failure` unless each parameter's gradient is right; where one is missing, all are drawn."""
    with _drawn_gradients(observed, expected):
        for name, gradient in expected.items():
            compare_gradient(observed.get(name), gradient, name)


def require_gradients(observed: Gradients, expected: Gradients, names: Iterable[str]) -> None:
    """Raise `Failure` unless each of the named parameters gets a gradient."""
    with _drawn_gradients(observed, expected):
        for name in names:
            _require_gradient(observed.get(name), name)


@contextmanager
def _drawn_gradients(observed: Gradients, expected: Gradients) -> Iterator[None]:
    try:
        yield
    except Failure as failure:
        if failure.finding.kind is FailureKind.NO_GRADIENT:
            failure.add(picture=pictures.gradients(observed, expected))
            failure.compared = GRADIENTS
        raise
    pictures.record(GRADIENTS, observed, expected)


def compare_gradient(observed: torch.Tensor | None, expected: torch.Tensor | None, name: str) -> None:
    """Raise `Failure` unless there is a gradient of what `name` names where there should be, with the right values."""
    if (
        expected is not None
        and observed is not None
        and observed.dtype == expected.dtype
        and torch.equal(observed, expected)
    ):
        return
    compared = Compared(item=f"the gradient of {name}")
    if expected is None or float(expected.abs().max()) < NEGLIGIBLE:
        if observed is not None:
            require_finite(observed, compared)
        if observed is not None and float(observed.abs().max()) > 100 * NEGLIGIBLE:
            raise Failure(
                FailureKind.GRADIENT,
                compared=compared,
                expected="none",
                observed=f"one of up to {number(float(observed.abs().max()))}",
                deviation=_deviation(observed, torch.zeros_like(observed), FLOAT32_GRADIENT),
            )
        return
    _require_gradient(observed, name)
    assert observed is not None
    require_shape(observed, list(expected.shape), compared)
    require_finite(observed, compared)
    require_close(observed, expected, compared, FLOAT32_GRADIENT, FailureKind.GRADIENT)


def _require_gradient(observed: torch.Tensor | None, name: str) -> None:
    """Raise `Failure` where nothing flows back."""
    if observed is None or not bool((observed != 0).any()):
        raise Failure(
            FailureKind.NO_GRADIENT,
            item=name,
            expected="the loss to reach it",
            observed="none" if observed is None else "zeros",
            deviation=name,
        )


def require_tensor(observed: Any, what: Compared | str) -> None:
    """Raise `Failure` unless a value is a tensor."""
    if not isinstance(observed, torch.Tensor):
        raise Failure(
            FailureKind.TYPE,
            compared=_compared(what),
            expected="a tensor",
            observed=describe(observed),
            deviation=_form(observed),
        )


def require_shape(observed: torch.Tensor, shape: list[int], what: Compared | str) -> None:
    """Raise `Failure` unless a tensor has the shape."""
    if list(observed.shape) != shape:
        raise Failure(
            FailureKind.SHAPE,
            compared=_compared(what),
            expected=f"shape {tuple(shape)}",
            observed=f"{tuple(observed.shape)}",
            deviation=observed.shape,
        )


def require_dtype(observed: torch.Tensor, dtype: torch.dtype, what: Compared | str) -> None:
    """Raise `Failure` unless a tensor has the dtype."""
    if observed.dtype != dtype:
        wanted, found = (str(each).removeprefix("torch.") for each in (dtype, observed.dtype))
        raise Failure(
            FailureKind.DTYPE, compared=_compared(what), expected=f"dtype {wanted}", observed=found, deviation=found
        )


def require_finite(observed: torch.Tensor, what: Compared | str, expected: torch.Tensor | None = None) -> None:
    """Raise `Failure` at the first element that is no finite number; drawn beside `expected`, where given."""
    bad = ~torch.isfinite(observed)
    if bool(bad.any()):
        first: list[int] = bad.nonzero()[0].tolist()
        raise Failure(
            FailureKind.NONFINITE,
            compared=_compared(what),
            place=as_index(first),
            expected="a finite number",
            observed=f"{float(observed[tuple(first)])}",
            elements_off=int(bad.sum()),
            elements=bad.numel(),
            picture=None if expected is None else pictures.values(observed, expected, first),
            deviation=_deviation(observed, torch.zeros_like(observed) if expected is None else expected, FLOAT32),
        )


def require_close(
    observed: torch.Tensor,
    expected: torch.Tensor,
    what: Compared | str,
    tolerance: Tolerance,
    kind: FailureKind = FailureKind.VALUES,
) -> None:
    """Raise `Failure` at the element that is furthest off."""
    compared, tolerance = _compared(what), tolerance.for_values(expected)
    if torch.allclose(observed, expected, tolerance.relative, tolerance.absolute, equal_nan=True):
        pictures.record(compared, observed, expected)
        return
    is_equal = (observed == expected) | (observed.isnan() & expected.isnan())  # (*S)
    difference = (observed.double() - expected.double()).abs().masked_fill(is_equal, 0.0)  # (*S)
    off = difference > tolerance.absolute + tolerance.relative * expected.abs()
    worst = pictures.place_of_largest(difference.nan_to_num(torch.inf))
    theirs, ours = numbers(float(expected[tuple(worst)]), float(observed[tuple(worst)]))
    raise Failure(
        kind,
        compared=compared,
        place=as_index(worst) if worst else "",
        expected=theirs,
        observed=ours,
        elements_off=int(off.sum()) if worst else 0,
        elements=off.numel() if worst else 0,
        picture=pictures.values(observed, expected, worst),
        explanation=explanations.explain(observed, expected, tolerance.relative, tolerance.absolute),
        deviation=_deviation(observed, expected, tolerance),
        wrong=pictures.WrongElement(tensor=observed, index=worst),
    )


def _deviation(observed: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Return differences (*S) in units of the tolerance; two right ways to compute a value lie within one."""
    expected = expected.double()
    return ((observed.double() - expected) / (tolerance.absolute + tolerance.relative * expected.abs())).float()


def describe(value: Any) -> str:
    """Return what a value is, in a few words."""
    if isinstance(value, Other):
        return value.description
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list | dict):  # no repr: that of a thousand tensors takes half a second
        return f"a {type(value).__name__} of {len(value)}"
    return f"{value!r}"[:80]


def _pairs(observed: Any, expected: Any, compared: Compared, parts: Sequence[str]) -> list[tuple[Any, Any, Compared]]:
    """Return the pairs of values to compare, and what each is; `Failure` unless number and keys are the same."""
    if isinstance(expected, dict):
        wanted = f"the keys {excerpt(', '.join(map(str, expected)))}"
        if isinstance(observed, dict) and observed.keys() == expected.keys():
            named = [structs.replace(compared, item=f"{compared.item} {key}") for key in expected]
            return [(observed[key], expected[key], item) for key, item in zip(expected, named, strict=True)]
    else:
        wanted = f"{len(expected)} values"
        if isinstance(observed, tuple | list) and len(observed) == len(expected):
            named = [compared.part(index, parts) for index in range(len(expected))]
            return list(zip(observed, expected, named, strict=True))
    raise Failure(
        FailureKind.TYPE, compared=compared, expected=wanted, observed=describe(observed), deviation=_form(observed)
    )


def _form(value: Any) -> str:
    """Return the type of a value, without what the submission wrote into it."""
    return type(value).__name__ + (f" of {len(value)}" if isinstance(value, tuple | list | dict) else "")
