"""Compare tensors: type, shape and dtype first, then whether values are finite, then values.

`observed` is the submission's tensor and `expected` the reference's. After `require_shape` both have the shape (*S). A
deviation is a tensor (*S) of differences in units of the tolerance.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from msgspec import structs

from grader.checks import diagnoses, pictures
from grader.checks.failure import Compared, Comparison, Failure, Relation, WrongElement
from grader.checks.outcome import FailureKind
from grader.checks.pictures import Gradients
from grader.checks.tolerances import FLOAT32, FLOAT32_GRADIENT, NEGLIGIBLE, Tolerance
from grader.sandbox.protocol import Other
from grader.sandbox.text import excerpt, listed_first
from grader.spec.kinds import Part

FEWEST_DIGITS = 3
MAX_DIGITS = 17
"""This many digits distinguish any two float64 numbers."""


class CountedComparisons:
    """The number of comparisons `done`; the first `tolerated` ones may fail."""

    def __init__(self, tolerated: int) -> None:
        self.done = 0
        self.tolerated = tolerated


_counted: ContextVar[CountedComparisons | None] = ContextVar("counted", default=None)


@contextmanager
def counted_comparisons(tolerated: int) -> Iterator[CountedComparisons]:
    """Count the comparisons in the block; the first `tolerated` ones may fail."""
    counted = CountedComparisons(tolerated)
    token = _counted.set(counted)
    try:
        yield counted
    finally:
        _counted.reset(token)


@contextmanager
def _comparison() -> Iterator[None]:
    """Count the comparison in the block, and suppress its failure if it is tolerated."""
    counted = _counted.get() or CountedComparisons(0)
    try:
        yield
    except Failure:
        if counted.done >= counted.tolerated:
            raise
    counted.done += 1


GRADIENTS = Compared(item="gradients")
INPUT_GRADIENTS = Compared(item="gradients of inputs")
"""The comparisons of all gradients of parameters and of inputs, recorded for pictures."""


def _as_compared(compared: Compared | str) -> Compared:
    return compared if isinstance(compared, Compared) else Compared(item=compared)


def number(value: float) -> str:
    """Format a number for findings."""
    return f"{value:.{FEWEST_DIGITS}g}"


def numbers(expected: float, observed: float) -> tuple[str, str]:
    """Format two numbers with enough digits to distinguish them; integers with all their digits."""
    expected, observed = expected + 0.0, observed + 0.0  # -0.0 becomes 0.0
    if expected.is_integer() and observed.is_integer() and max(abs(expected), abs(observed)) < 10**MAX_DIGITS:
        return f"{expected:.0f}", f"{observed:.0f}"
    digits = FEWEST_DIGITS
    while digits < MAX_DIGITS and f"{expected:.{digits}g}" == f"{observed:.{digits}g}":
        digits += 1
    return f"{expected:.{digits}g}", f"{observed:.{digits}g}"


def compare(
    observed: Any,
    expected: Any,
    compared: Compared | str,
    tolerance: Tolerance = FLOAT32,
    parts: Sequence[Part] = (),
) -> None:
    """Raise `Failure` unless `observed` has the form and values of `expected`; `parts` names several values."""
    compared = _as_compared(compared)
    if isinstance(expected, tuple | list | dict):
        with _comparison():
            require_form(observed, expected, compared, parts)
        for ours, theirs, part in _pairs(observed, expected, compared, parts):
            compare(ours, theirs, part, tolerance)
        return
    with _comparison():
        _compare_one(observed, expected, compared, tolerance)


def _compare_one(observed: Any, expected: Any, compared: Compared, tolerance: Tolerance) -> None:
    """Compare one value, which is no container."""
    if isinstance(expected, torch.Tensor):
        require_form(observed, expected, compared)
        if expected.dtype == torch.bool:
            observed, expected = observed.int(), expected.int()  # torch does not subtract booleans
        if torch.equal(observed, expected) or _is_close(observed, expected, tolerance):
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


def _is_close(observed: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> bool:
    """Return whether all values are close. NaN is close to nothing, so right values need one pass."""
    within = tolerance.for_values(expected)
    return torch.allclose(observed, expected, within.relative, within.absolute)


def require_form(observed: Any, expected: Any, compared: Compared | str, parts: Sequence[Part] = ()) -> None:
    """Raise `Failure` unless `observed` has the number of tensors, shapes, dtypes and keys of `expected`."""
    compared = _as_compared(compared)
    if isinstance(expected, tuple | list | dict):
        for ours, theirs, part in _pairs(observed, expected, compared, parts):
            require_form(ours, theirs, part)
    elif isinstance(expected, torch.Tensor):
        require_tensor(observed, compared)
        require_shape(observed, list(expected.shape), compared)
        require_dtype(observed, expected.dtype, compared)


def compare_gradients(
    observed: Gradients,
    expected: Gradients,
    tolerance: Tolerance = FLOAT32_GRADIENT,
    negligible: float = NEGLIGIBLE,
    *,
    of_inputs: bool = False,
) -> None:
    """Raise `Failure` unless each gradient is right: of the parameters, or of the inputs if `of_inputs`.

    If one is missing, the picture shows all. Gradients below `negligible` are rounding errors of zero.
    """
    with _picturing_gradients(observed, expected, of_inputs=of_inputs):
        for name, gradient in expected.items():
            compare_gradient(observed.get(name), gradient, name, tolerance, negligible, of_input=of_inputs)


def require_gradients(observed: Gradients, expected: Gradients, names: Iterable[str]) -> None:
    """Raise `Failure` unless each of the named parameters gets a gradient."""
    with _picturing_gradients(observed, expected):
        for name in names:
            _require_gradient(observed.get(name), name, of_input=False)


def require_finite_gradients(observed: Gradients, expected: Gradients, *, of_inputs: bool = False) -> None:
    """Raise `Failure` at the first gradient that is not finite although the expected gradient is."""
    for name, gradient in expected.items():
        own = observed.get(name)
        if own is not None and gradient is not None and bool(gradient.isfinite().all()):
            with _comparison():
                require_finite(own, _gradient_of(name, of_input=of_inputs))


@contextmanager
def _picturing_gradients(observed: Gradients, expected: Gradients, *, of_inputs: bool = False) -> Iterator[None]:
    """Add a picture of all gradients to a failure in the block because of a missing gradient."""
    compared = INPUT_GRADIENTS if of_inputs else GRADIENTS
    observed, expected = (
        {_label(name, of_input=of_inputs): gradient for name, gradient in each.items()} for each in (observed, expected)
    )
    try:
        yield
    except Failure as failure:
        if failure.finding.kind is FailureKind.NO_GRADIENT:
            failure.change(picture=pictures.gradients(observed, expected))
            failure.compared = compared
        raise
    pictures.record(compared, observed, expected)


def _gradient_of(name: str, *, of_input: bool) -> Compared:
    return Compared(item=f"the gradient of {_label(name, of_input=of_input)}", axes=())


def _label(name: str, *, of_input: bool) -> str:
    """Return the words for the parameter or the input of that name."""
    return f"the input {name}" if of_input else name


def compare_gradient(
    observed: torch.Tensor | None,
    expected: torch.Tensor | None,
    name: str,
    tolerance: Tolerance = FLOAT32_GRADIENT,
    negligible: float = NEGLIGIBLE,
    *,
    of_input: bool = False,
) -> None:
    """Raise `Failure` unless the gradient of `name` is right, or missing where it should be None or zero.

    `name` is the name of a parameter, or of an input if `of_input`.
    """
    with _comparison():
        _compare_gradient(observed, expected, name, tolerance, negligible, of_input=of_input)


def _compare_gradient(
    observed: torch.Tensor | None,
    expected: torch.Tensor | None,
    name: str,
    tolerance: Tolerance,
    negligible: float,
    *,
    of_input: bool,
) -> None:
    if (
        expected is not None
        and observed is not None
        and observed.dtype == expected.dtype
        and torch.equal(observed, expected)
    ):
        return
    compared = _gradient_of(name, of_input=of_input)
    if expected is None or float(expected.abs().max()) < negligible:
        if observed is not None:
            require_finite(observed, compared)
        if observed is not None and float(observed.abs().max()) > 100 * negligible:
            raise Failure(
                FailureKind.GRADIENT,
                compared=compared,
                expected="none",
                observed=f"one of up to {number(float(observed.abs().max()))}",
                deviation=_deviation(observed, torch.zeros_like(observed), tolerance),
                comparison=Comparison(
                    relation=Relation.CLOSE,
                    observed=observed,
                    expected=torch.zeros_like(observed),
                    absolute=100 * negligible,
                ),
            )
        return
    _require_gradient(observed, name, of_input=of_input)
    assert observed is not None
    require_shape(observed, list(expected.shape), compared)
    require_finite(observed, compared)
    require_close(observed, expected, compared, tolerance, FailureKind.GRADIENT)


def _require_gradient(observed: torch.Tensor | None, name: str, *, of_input: bool) -> None:
    """Raise `Failure` if the gradient is missing or zero."""
    if observed is None or not bool((observed != 0).any()):
        raise Failure(
            FailureKind.NO_GRADIENT,
            item=_label(name, of_input=of_input),
            expected="the loss to reach it",
            observed="None" if observed is None else "all zeros",
            deviation=frozenset({_label(name, of_input=of_input)}),
            comparison=Comparison(relation=Relation.GRADIENT, name=name, is_input=of_input),
        )


def require_tensor(observed: Any, compared: Compared | str) -> None:
    """Raise `Failure` unless a value is a tensor."""
    if not isinstance(observed, torch.Tensor):
        raise Failure(
            FailureKind.TYPE,
            compared=_as_compared(compared),
            expected="a tensor",
            observed=describe(observed),
            deviation=frozenset({_form(observed)}),
        )


def require_shape(observed: torch.Tensor, shape: list[int], compared: Compared | str) -> None:
    """Raise `Failure` unless a tensor has the shape."""
    if list(observed.shape) != shape:
        raise Failure(
            FailureKind.SHAPE,
            compared=_as_compared(compared),
            expected=f"shape {tuple(shape)}",
            observed=f"{tuple(observed.shape)}",
            deviation=observed.shape,
            comparison=Comparison(relation=Relation.SHAPE, observed=observed, expected=shape),
        )


def require_dtype(observed: torch.Tensor, dtype: torch.dtype, compared: Compared | str) -> None:
    """Raise `Failure` unless a tensor has the dtype."""
    if observed.dtype != dtype:
        wanted, found = (str(each).removeprefix("torch.") for each in (dtype, observed.dtype))
        raise Failure(
            FailureKind.DTYPE,
            compared=_as_compared(compared),
            expected=f"dtype {wanted}",
            observed=found,
            deviation=frozenset({found}),
            comparison=Comparison(relation=Relation.DTYPE, observed=observed, expected=wanted),
        )


def require_finite(observed: torch.Tensor, compared: Compared | str, expected: torch.Tensor | None = None) -> None:
    """Raise `Failure` at the first element that is not finite; with `expected`, the picture shows both tensors."""
    bad = ~torch.isfinite(observed)
    if bool(bad.any()):
        compared, axes = _as_compared(compared), _as_compared(compared).axis_names(observed.dim())
        first: list[int] = bad.nonzero()[0].tolist()
        raise Failure(
            FailureKind.NONFINITE,
            compared=compared,
            place=compared.place(first),
            expected="a finite number",
            observed=f"{float(observed[tuple(first)])}",
            elements_off=int(bad.sum()),
            elements=bad.numel(),
            picture=pictures.values(observed, expected, first, axes) if expected is not None else None,
            deviation=_deviation(observed, torch.zeros_like(observed) if expected is None else expected, FLOAT32),
            comparison=Comparison(relation=Relation.FINITE, observed=observed),
        )


def require_close(
    observed: torch.Tensor,
    expected: torch.Tensor,
    compared: Compared | str,
    tolerance: Tolerance,
    kind: FailureKind = FailureKind.VALUES,
) -> None:
    """Raise `Failure` at the element that is furthest off."""
    compared, tolerance = _as_compared(compared), tolerance.for_values(expected)
    if torch.allclose(observed, expected, tolerance.relative, tolerance.absolute, equal_nan=True):
        pictures.record(compared, observed, expected)
        return
    is_equal = (observed == expected) | (observed.isnan() & expected.isnan())  # (*S)
    difference = (observed.double() - expected.double()).abs().masked_fill(is_equal, 0.0)  # (*S)
    off = ~torch.isclose(observed, expected, tolerance.relative, tolerance.absolute, equal_nan=True)  # (*S)
    worst = pictures.place_of_largest(difference.nan_to_num(torch.inf))
    theirs, ours = numbers(float(expected[tuple(worst)]), float(observed[tuple(worst)]))
    raise Failure(
        kind,
        compared=compared,
        place=compared.place(worst) if worst else "",
        expected=theirs,
        observed=ours,
        elements_off=int(off.sum()) if worst else 0,
        elements=off.numel() if worst else 0,
        picture=pictures.values(observed, expected, worst, compared.axis_names(observed.dim())),
        diagnosis=diagnoses.diagnose(observed, expected, tolerance.relative, tolerance.absolute),
        deviation=_deviation(observed, expected, tolerance),
        wrong=WrongElement(tensor=observed, index=worst),
        comparison=Comparison(
            relation=Relation.CLOSE,
            observed=observed,
            expected=expected,
            relative=tolerance.relative,
            absolute=tolerance.absolute,
        ),
    )


def _deviation(observed: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Return differences (*S) in units of the tolerance; right implementations differ by less than 1."""
    expected = expected.double()
    return ((observed.double() - expected) / (tolerance.absolute + tolerance.relative * expected.abs())).float()


def shape_differences(ours: Mapping[str, tuple[int, ...]], theirs: Mapping[str, tuple[int, ...]]) -> tuple[str, str]:
    """Return two lists as text: the names and shapes that only the reference has, and those that only the subject has.

    Both are empty if there is no difference.
    """
    missing = [f"{name} {shape}" for name, shape in theirs.items() if ours.get(name) != shape]
    extra = [f"{name} {shape}" for name, shape in ours.items() if theirs.get(name) != shape]
    return listed_first(missing), listed_first(extra)


def describe(value: Any) -> str:
    """Describe a value in a few words."""
    if isinstance(value, Other):
        return value.description
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list | dict):  # the repr of a thousand tensors takes half a second
        return f"a {type(value).__name__} of {len(value)}"
    return f"{value!r}"[:80]


def _pairs(observed: Any, expected: Any, compared: Compared, parts: Sequence[Part]) -> list[tuple[Any, Any, Compared]]:
    """Pair the values to compare, each with its description; raise `Failure` unless number and keys are equal."""
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
        FailureKind.TYPE,
        compared=compared,
        expected=wanted,
        observed=describe(observed),
        deviation=frozenset({_form(observed)}),
    )


def _form(value: Any) -> str:
    """Return the type and the length of a value; the submission cannot influence the text otherwise."""
    return type(value).__name__ + (f" of {len(value)}" if isinstance(value, tuple | list | dict) else "")
