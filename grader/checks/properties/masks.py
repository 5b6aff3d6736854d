"""Properties of masks: every shape and dtype that can hide a key, and rows in which every key is hidden."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from grader.checks.case import VISIBLE_SHARE, Case, dead_row
from grader.checks.compare import compare, require_close, require_finite, require_form
from grader.checks.context import Context, runs
from grader.checks.failure import Compared, extreme_numbers
from grader.checks.outputs import nth_output
from grader.checks.proxies import ModuleProxy, Pass
from grader.checks.session import SubjectRaisedError
from grader.checks.tolerances import UNCHANGED, Tolerance
from grader.sandbox.values import flatten
from grader.spec.fields import sizes_of
from grader.spec.properties import (
    AcceptsMasks,
    MaskedRowsStayFinite,
    OtherRowsMatchReference,
)

ONE_KEY = Tolerance(relative=1e-4, absolute=1e-5, of_largest=1e-4)
"""Tolerance for queries with a single key, whose weight is 1 for any scores, without rounding."""


@runs(AcceptsMasks)
def try_accepts_masks(check: AcceptsMasks, context: Context, case: Case) -> None:
    ours, theirs = context.build_both(check, case)
    order = torch.randperm(len(check.dtypes)).tolist()
    masks = []
    for index in range(max(len(check.shapes), len(check.dtypes))):
        shape, dtype = check.shapes[index % len(check.shapes)], check.dtypes[order[index % len(order)]]
        masks.append(_random_mask(sizes_of(shape, case.sizes), check.keys).to(getattr(torch, dtype)))
    calls = [{**case.inputs, check.mask: mask} for mask in masks]
    for mask, inputs, observed in zip(masks, calls, _returned(ours, check.method, calls), strict=True):
        compared = Compared(action=f"with a mask of shape {tuple(mask.shape)} and dtype {str(mask.dtype)[6:]}")
        compare(observed, theirs.call(check.method, **inputs), compared)
    large_inputs = {
        name: case.enlarged(value, check.loudness) for name, value in case.tensors().items() if name != check.mask
    }
    lonely = _random_mask(sizes_of(check.shapes[0], case.sizes), check.keys, visible=0.0)
    inputs = {**case.inputs, **large_inputs, check.mask: lonely.to(getattr(torch, check.dtypes[order[0]]))}
    action = f"with inputs {case.enlargement(check.loudness)} and a mask that leaves each query a single key"
    expected = theirs.call(check.method, **inputs)
    with extreme_numbers():
        compare(ours.call(check.method, **inputs), expected, Compared(action=action), ONE_KEY)


def _returned(module: ModuleProxy, method: str, calls: list[dict[str, Any]]) -> Iterator[Any]:
    """Return the results of the calls, requested together. If one raises, request them one by one."""
    if not method:
        with contextlib.suppress(SubjectRaisedError):
            return iter(module.call_each(calls))
    return (module.call(method, **inputs) for inputs in calls)


@runs(MaskedRowsStayFinite)
def try_masked_rows_stay_finite(check: MaskedRowsStayFinite, context: Context, case: Case) -> None:
    ours, theirs = context.build_both(check, case)
    returned = theirs.call(check.method, **case.inputs)
    expected, *other_outputs = flatten(returned)
    row = dead_row(expected.size(check.axis))
    cotangent = torch.randn(expected.shape)
    cotangent.select(check.axis, row).zero_()
    zeros = [torch.zeros_like(each) for each in other_outputs if each.is_floating_point()]
    passed = ours.differentiate([cotangent, *zeros], check.method, **case.inputs)
    item = f"query {row} may look at no key; output"
    ours.grad = False
    for value, calling_variant in ((passed.value, ""), (ours.call(check.method, **case.inputs), "under no_grad, ")):
        require_form(value, returned, f"{calling_variant}{check.method or 'forward'}: output")
        observed = nth_output(value, 0)
        require_finite(observed, f"{calling_variant}{item}")
        ours_there, theirs_there = (each.select(check.axis, row) for each in (observed, expected))
        require_close(ours_there, theirs_there, f"{calling_variant}{item} at that query", UNCHANGED)
    skipping = f"query {row} may look at no key and the loss skips it; the gradient of"
    _require_finite_gradients(passed, skipping)
    ours.training = True
    passed = ours.differentiate([cotangent, *zeros], check.method, **case.inputs)
    require_finite(nth_output(passed.value, 0), f"in training mode, {item}")
    _require_finite_gradients(passed, f"in training mode, {skipping}")


def _require_finite_gradients(passed: Pass, item: str) -> None:
    for name, gradient in {**passed.parameters, **passed.inputs}.items():
        if gradient is not None:
            require_finite(gradient, f"{item} {name}")


@runs(OtherRowsMatchReference)
def try_other_rows_match_reference(check: OtherRowsMatchReference, context: Context, case: Case) -> None:
    ours, theirs = context.build_both(check, case)
    observed, expected = ours(**case.inputs), theirs(**case.inputs)
    require_form(observed, expected, "output")
    for index, axis in enumerate(check.axes):
        one, other = nth_output(observed, index), nth_output(expected, index)
        dead = dead_row(other.size(axis))
        others = [row for row in range(other.size(axis)) if row != dead]
        item = f"query {dead} may look at no key; output {index} at the other queries"
        compared = Compared(item=item, axes=())  # without the dead query, indexes are shifted
        compare(one[(slice(None),) * axis + (others,)], other[(slice(None),) * axis + (others,)], compared)


def _random_mask(shape: list[int], keys: int, visible: float = VISIBLE_SHARE) -> torch.Tensor:
    """Return a random mask with at least one true value along the axis of the keys."""
    mask = torch.rand(shape) < visible
    one = [*shape]
    one[keys] = 1
    return mask.scatter(keys, torch.randint(shape[keys], one), value=True)
