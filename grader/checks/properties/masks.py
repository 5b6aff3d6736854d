"""Properties of masks: every shape and dtype that can say which key is hidden, and rows in which every key is."""

import contextlib
import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from grader.checks.case import VISIBLE_SHARE, dead_row, size_of
from grader.checks.compare import UNCHANGED, Tolerance, compare, require_close, require_finite, require_form
from grader.checks.outputs import nth_output
from grader.checks.properties import Context, Property
from grader.spec.checks import MadeInput, MaskKind, Name, Shape, unknown_name, unknown_sizes
from grader.spec.problem import KeyPath, Problem

if TYPE_CHECKING:
    import torch

    from grader.checks.case import Case
    from grader.checks.proxies import ModuleProxy, Pass
    from grader.spec.exercise import Exercise

MaskDtype = typing.Literal[
    "bool", "int64", "float32", "uint8", "int32", "int16", "int8", "float64", "float16", "bfloat16"
]
DTYPES = typing.get_args(MaskDtype)
"""Truth values, and ones and zeros of integers and of floats."""

LOUDNESS = 400.0
"""Scores reach a hundred thousand: ten times what a fill of -10000 hides, and a tenth of what one of -1e6 does."""

ONE_KEY = Tolerance(1e-4, 1e-5, of_largest=1e-4)
"""Where a query sees a single key, its weight is one whatever the scores are, and no softmax rounds."""


class AcceptsMasks(Property, frozen=True, tag="accepts_masks"):
    """With a mask of each of the shapes, in one dtype after another, outputs equal the reference's."""

    draws_equal_sizes: ClassVar[bool] = True

    shapes: tuple[Shape, ...]
    """The shapes that a mask may have."""
    mask: Name = "mask"
    """The input that is the mask."""
    keys: int = -1
    """The axis of the keys in all of them."""
    dtypes: tuple[MaskDtype, ...] = DTYPES
    """The dtypes that a mask may have."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        for index, shape in enumerate(self.shapes):
            yield from unknown_sizes(shape, sizes, (*path, "shapes", index))
            if not -len(shape) <= self.keys < len(shape):
                yield Problem((*path, "keys"), f"an axis of {shape}", str(self.keys), "write keys: -1")

    def try_case(self, context: Context, case: "Case") -> None:
        import torch

        ours, theirs = context.pair(self, case)
        order = torch.randperm(len(self.dtypes)).tolist()
        masks = []
        for index in range(max(len(self.shapes), len(self.dtypes))):
            shape, dtype = self.shapes[index % len(self.shapes)], self.dtypes[order[index % len(order)]]
            sizes = [size_of(size, case.sizes) for size in shape]
            masks.append(_random_mask(sizes, self.keys).to(getattr(torch, dtype)))
        calls = [{**case.inputs, self.mask: mask} for mask in masks]
        for mask, inputs, seen in zip(masks, calls, _returned(ours, self.method, calls), strict=True):
            what = f"with a mask of shape {tuple(mask.shape)} and dtype {str(mask.dtype)[6:]}, output"
            compare(seen, theirs.call(self.method, **inputs), what)
        loud = {name: value * LOUDNESS for name, value in case.tensors().items() if name != self.mask}
        lonely = _random_mask([size_of(size, case.sizes) for size in self.shapes[0]], self.keys, visible=0.0)
        inputs = {**case.inputs, **loud, self.mask: lonely.to(getattr(torch, self.dtypes[order[0]]))}
        what = f"with inputs {LOUDNESS:g} times as large and a mask that leaves each query a single key, output"
        compare(ours.call(self.method, **inputs), theirs.call(self.method, **inputs), what, ONE_KEY)


def _returned(module: "ModuleProxy", method: str, calls: list[dict[str, Any]]) -> Iterator[Any]:
    """What the calls return, asked for at once; where one of them raises, one after the other."""
    from grader.checks.session import SubjectRaisedError

    if not method:
        with contextlib.suppress(SubjectRaisedError):
            return iter(module.call_each(calls))
    return (module.call(method, **inputs) for inputs in calls)


class MaskedRowsStayFinite(Property, frozen=True, tag="masked_rows_stay_finite"):
    """A query that may look at no key gets zero weights, and no NaN spreads from it."""

    shows_values: ClassVar[bool] = False

    mask: Name = "mask"
    """The input that is the mask."""
    axis: int = 1
    """The axis of the tokens."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from mask_problems(self.mask, MaskKind.DEAD_ROW, self.all_inputs(exercise), path)

    def try_case(self, context: Context, case: "Case") -> None:
        import torch

        from grader.sandbox.values import flatten

        ours, theirs = context.pair(self, case)
        returned = theirs.call(self.method, **case.inputs)
        expected, *rest = flatten(returned)
        row = dead_row(expected.size(self.axis))
        cotangent = torch.randn(expected.shape)
        cotangent.select(self.axis, row).zero_()
        skipped = [torch.zeros_like(each) for each in rest if each.is_floating_point()]
        passed = ours.differentiate([cotangent, *skipped], self.method, **case.inputs)
        what = f"query {row} may look at no key; output"
        ours.grad = False
        for value, calling_variant in ((passed.value, ""), (ours.call(self.method, **case.inputs), "under no_grad, ")):
            require_form(value, returned, f"{calling_variant}{self.method or 'forward'}: output")
            seen = nth_output(value, 0)
            require_finite(seen, f"{calling_variant}{what}")
            ours_there, theirs_there = (each.select(self.axis, row) for each in (seen, expected))
            require_close(ours_there, theirs_there, f"{calling_variant}{what} at that query", UNCHANGED)
        skipping = f"query {row} may look at no key and the loss skips it; the gradient of"
        _require_finite_gradients(passed, skipping)
        ours.training = True
        passed = ours.differentiate([cotangent, *skipped], self.method, **case.inputs)
        require_finite(nth_output(passed.value, 0), f"in training mode, {what}")
        _require_finite_gradients(passed, f"in training mode, {skipping}")


def _require_finite_gradients(passed: "Pass", what: str) -> None:
    for name, gradient in {**passed.parameters, **passed.inputs}.items():
        if gradient is not None:
            require_finite(gradient, f"{what} {name}")


class OtherRowsMatchReference(Property, frozen=True, tag="other_rows_match_reference"):
    """A mask that hides everything from one query leaves the other queries what the reference gives them."""

    mask: Name = "mask"
    """The input that is the mask."""
    axes: tuple[int, ...] = (1,)
    """The axis of the queries in each output."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from mask_problems(self.mask, MaskKind.DEAD_ROW, self.all_inputs(exercise), path)
        outputs = exercise.interface.outputs
        if len(self.axes) != len(outputs):
            remedy = f"write axes: {[1] * len(outputs)}"
            yield Problem((*path, "axes"), f"an axis for each of {len(outputs)} outputs", str(len(self.axes)), remedy)

    def try_case(self, context: Context, case: "Case") -> None:
        ours, theirs = context.pair(self, case)
        seen, expected = ours(**case.inputs), theirs(**case.inputs)
        require_form(seen, expected, "output")
        for index, axis in enumerate(self.axes):
            one, other = nth_output(seen, index), nth_output(expected, index)
            dead = dead_row(other.size(axis))
            others = [row for row in range(other.size(axis)) if row != dead]
            what = f"query {dead} may look at no key; output {index} at the other queries"
            compare(one[(slice(None),) * axis + (others,)], other[(slice(None),) * axis + (others,)], what)


def _random_mask(shape: list[int], keys: int, visible: float = VISIBLE_SHARE) -> "torch.Tensor":
    """Truth values of which one at least is true along the axis of the keys."""
    import torch

    mask = torch.rand(shape) < visible
    one = [*shape]
    one[keys] = 1
    return mask.scatter(keys, torch.randint(shape[keys], one), value=True)


def mask_problems(name: str, kind: MaskKind, inputs: dict[str, Any], path: KeyPath) -> Iterator[Problem]:
    masks = {each: spec for each, spec in inputs.items() if isinstance(spec, MadeInput) and spec.is_mask()}
    if not masks:
        remedy = f"write inputs: {{{name}: {{mask: {kind}, shape: [tokens, tokens]}}}}"
        yield Problem((*path, "mask"), "a mask among the check's inputs", "none", remedy)
        return
    yield from unknown_name("a mask", name, masks, (*path, "mask"))
    if name in masks and masks[name].mask is not kind:
        at = (*path, "inputs", name, "mask")
        yield Problem(at, f"{kind}, which this property looks at", str(masks[name].mask), f"write mask: {kind}")
