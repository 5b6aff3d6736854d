"""Compare the form of a module's outputs with the interface."""

from typing import Any

import torch

from grader.checks.case import Case
from grader.checks.compare import describe, require_shape, require_tensor
from grader.checks.failure import Failure
from grader.checks.outcome import FailureKind
from grader.sandbox.values import outputs_of
from grader.spec.exercise import Exercise
from grader.spec.fields import sizes_of
from grader.spec.interface import Interface
from grader.spec.properties import Property


def axes_of_checked(exercise: Exercise, check: Property) -> tuple[tuple[str, ...], ...]:
    """Return the names of the axes of each output that a check compares; none for another method."""
    return () if check.method else axes_of_outputs(exercise.interface)


def axes_of_outputs(interface: Interface) -> tuple[tuple[str, ...], ...]:
    """Return the names of the axes of each output; none where a size has no name."""
    shapes = interface.outputs
    return tuple(tuple(map(str, shape)) if all(isinstance(size, str) for size in shape) else () for shape in shapes)


def nth_output(value: Any, index: int) -> torch.Tensor:
    """Return one of the returned tensors; raise `Failure` if it is missing or not a tensor."""
    values = outputs_of(value)
    if index >= len(values):
        raise Failure(
            FailureKind.TYPE,
            action="forward",
            expected=f"at least {index + 1} values",
            observed=describe(value),
        )
    output = values[index]
    require_tensor(output, "output")
    tensor: torch.Tensor = output
    return tensor


def require_declared(value: Any, exercise: Exercise, check: Property, sizes: dict[str, int]) -> None:
    """Raise `Failure` unless a value has the number of tensors and the shapes that the interface declares.

    Shapes are not compared if the check's own inputs have sizes without a name.
    """
    shapes, own = exercise.interface.outputs, [check.inputs.get(name) for name in exercise.interface.inputs]
    is_declared = all(isinstance(size, str) for shape in own if isinstance(shape, list) for size in shape)
    values = outputs_of(value)
    if len(values) != len(shapes):
        raise Failure(FailureKind.TYPE, action="forward", expected=f"{len(shapes)} values", observed=describe(value))
    for index, (output, shape) in enumerate(zip(values, shapes, strict=True)):
        item = f"output {index}" if len(shapes) > 1 else "output"
        require_tensor(output, item)
        if is_declared:
            require_shape(output, sizes_of(shape, sizes), item)


def declared_output(exercise: Exercise, check: Property, case: Case, value: Any, index: int) -> torch.Tensor:
    """Return one of the returned tensors; raise `Failure` unless all have the form that the interface declares."""
    if not check.method:
        require_declared(value, exercise, check, case.sizes)
    output = nth_output(value, index)
    if not output.is_floating_point():
        name = str(output.dtype).removeprefix("torch.")
        raise Failure(
            FailureKind.DTYPE,
            item="output",
            expected="floating-point numbers",
            observed=name,
            deviation=frozenset({name}),
        )
    return output


def has_form(value: Any, shapes: list[list[int | str]]) -> bool:
    """Return whether a value consists of floating-point tensors with as many dimensions as these shapes.

    A single tensor must not be in a tuple; several tensors must be.
    """
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
