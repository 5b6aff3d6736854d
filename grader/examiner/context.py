"""What every property works with: subject and reference side by side, and the tensors that come back."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.examiner.case import size_of
from grader.examiner.compare import UNCHANGED, Failure, describe, number, require_finite, require_shape, require_tensor

if TYPE_CHECKING:
    import torch

    from grader.course.checks import Check
    from grader.course.records import Exercise
    from grader.examiner.case import Case
    from grader.examiner.outcome import Picture
    from grader.examiner.proxies import ModuleFactory, ModuleProxy
    from grader.examiner.reference_cache import ReferenceCache


class Context:
    """What a property works with: two module factories and the exercise. `read_printed` gives what came to stdout.

    `are_manners_tried` tells whether the module is still called in manners: it is not once it did not answer in one.
    `last_returned` gives what the submission's last call returned.
    """

    def __init__(
        self,
        subject: "ModuleFactory",
        reference: "ReferenceCache",
        exercise: "Exercise",
        read_printed: Callable[[], bytes] = bytes,
        are_manners_tried: Callable[[], bool] = lambda: True,
        last_returned: Callable[[], Any] = lambda: None,
    ) -> None:
        self.subject = subject
        self.reference = reference
        self.exercise = exercise
        self.read_printed = read_printed
        self.are_manners_tried = are_manners_tried
        self.last_returned = last_returned

    def pair(
        self, check: "Check", case: "Case", dtype: str = "", probe: str = "", *, varies_both: bool = False
    ) -> "tuple[ModuleProxy, ModuleProxy]":
        """Subject and reference with the same weights.

        A `probe` defines a `Variation` of the subject's class, and where it `varies_both` of the reference's too.
        """
        entry = "Variation" if probe else ""
        own, theirs_entry = (probe, entry) if varies_both else ("", "")
        theirs = self.reference.build(case.arguments, dtype=dtype, probe=own, entry=theirs_entry)
        ours = self.subject.build(case.arguments, dtype=dtype, like=theirs, probe=probe, entry=entry, at_once=False)
        ours.training = theirs.training = check.training
        return ours, theirs

    def ours(self, check: "Check", case: "Case") -> "ModuleProxy":
        """The subject alone, with weights of its own making."""
        module = self.subject.build(case.arguments, at_once=False)
        module.training = check.training
        return module


def nth_output(value: Any, index: int) -> "torch.Tensor":
    """One of the returned tensors."""
    values = value if isinstance(value, tuple | list) else [value]
    if index >= len(values):
        raise Failure("type", f"forward: expected at least {index + 1} values, saw {describe(value)}")
    seen = values[index]
    require_tensor(seen, "output")
    tensor: torch.Tensor = seen
    return tensor


def require_declared(value: Any, exercise: "Exercise", check: "Check", sizes: dict[str, int]) -> None:
    """Raise `Failure` unless a value has as many tensors, of such shapes, as the interface declares.

    Shapes are left alone where the check hands in others than the interface's, of sizes that have no name.
    """
    shapes, own = exercise.interface.outputs, [check.inputs.get(name) for name in exercise.interface.inputs]
    is_declared = all(isinstance(size, str) for shape in own if isinstance(shape, list) for size in shape)
    values = value if isinstance(value, tuple | list) else [value]
    if len(values) != len(shapes):
        raise Failure("type", f"forward: expected {len(shapes)} values, saw {describe(value)}")
    for index, (seen, shape) in enumerate(zip(values, shapes, strict=True)):
        what = f"output {index}" if len(shapes) > 1 else "output"
        require_tensor(seen, what)
        if is_declared:
            require_shape(seen, [size_of(size, sizes) for size in shape], what)


def has_form(value: Any, shapes: list[list[int | str]]) -> bool:
    """Whether a value is as many tensors of numbers, of as many dimensions, as these shapes; one is in no tuple."""
    import torch

    is_several = isinstance(value, tuple | list)
    values = value if is_several else [value]
    return (
        is_several == (len(shapes) > 1)
        and len(values) == len(shapes)
        and all(
            isinstance(each, torch.Tensor) and each.is_floating_point() and each.dim() == len(shape)
            for each, shape in zip(values, shapes, strict=True)
        )
    )


def declared_output(context: Context, check: "Check", case: "Case", value: Any, index: int) -> "torch.Tensor":
    """One of the returned tensors, where all have the form that the interface declares."""
    if not check.method:
        require_declared(value, context.exercise, check, case.sizes)
    seen = nth_output(value, index)
    if not seen.is_floating_point():
        name = str(seen.dtype).removeprefix("torch.")
        raise Failure("dtype", f"output: expected floating-point numbers, saw {name}", saw=name)
    return seen


def with_change(case: "Case", name: str, axis: int, index: int) -> dict[str, Any]:
    """The inputs with one token or sample of one input drawn anew; whole numbers become others of the same input."""
    import torch

    changed = case.inputs[name].clone()
    part = changed.select(axis, index)
    if changed.is_floating_point():
        part.copy_(torch.randn(part.shape))
    else:
        values = changed.unique()
        part.copy_(values[(torch.searchsorted(values, part.contiguous()) + 1) % len(values)])
    return {**case.inputs, name: changed}


def require_unchanged(
    before: "torch.Tensor",
    after: "torch.Tensor",
    axis: int,
    kept: list[int],
    what: str,
    kind: str,
    unit: str = "token",
    draw: "Callable[[], Picture | None]" = lambda: None,
) -> None:
    """Raise `Failure` at the kept token or sample that moved most, with what `draw` makes of it."""
    require_shape(after, list(before.shape), "output")
    if before.dim() <= axis or before.size(axis) <= max(kept, default=-1):
        raise Failure(
            "shape",
            f"output: expected an axis {axis} of at least {max(kept) + 1} {unit}s, saw shape {tuple(before.shape)}",
        )
    require_finite(before, "output")
    require_finite(after, f"{what}: output")
    moved = {index: float((after - before).select(axis, index).abs().max()) for index in kept}
    worst = max(moved, key=lambda index: moved[index], default=None)
    if worst is not None and moved[worst] > UNCHANGED.absolute * max(1.0, float(before.abs().max())):
        told = f"{what} changed the output at {unit} {worst} by {number(moved[worst])}; expected no change"
        raise Failure(kind, told, draw())


def require_changed(before: "torch.Tensor", after: "torch.Tensor", axis: int, token: int, what: str) -> None:
    """Raise `Failure` where an output that sees the change does not answer to it: what never moves cannot leak."""
    if float((after - before).select(axis, token).abs().max()) <= UNCHANGED.absolute:
        raise Failure("dead", f"{what} left the output at token {token} as it was; expected it to change")


def require_inputs_kept(module: "ModuleProxy", case: "Case") -> None:
    """Raise `Failure` where the last call left other values in what it was handed."""
    import torch

    left = module.inputs_after()
    for name, before in case.inputs.items():
        if isinstance(before, torch.Tensor) and (name not in left or not torch.equal(left[name], before)):
            raise Failure("input-changed", f"the input {name}: expected it unchanged by the call, saw other values")
