"""The arguments of a property: inputs, outputs, axes, sizes and exceptions that exist."""

import builtins
from collections.abc import Iterable, Iterator
from typing import Any

from grader.exercise import checks as c
from grader.exercise.checks import Check, MaskInput, MaskKind
from grader.exercise.problem import Path, Problem, listed, nearest, quoted
from grader.exercise.records import Exercise
from grader.exercise.sizes import unknown_sizes

EXCEPTIONS = [
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
]


def argument_problems(exercise: Exercise, check: Check, sizes: set[str], path: Path) -> Iterator[Problem]:
    """Arguments of the check that name what is not there."""
    interface = exercise.interface
    inputs = check.inputs if check.method else {**interface.inputs, **check.inputs}
    match check:
        case c.FutureDoesNotLeak() | c.MaskHides() | c.SamplesDoNotMix():
            yield from _input_problems(check.input, check.axis, inputs, path)
        case c.DropoutOnlyInTraining() | c.DropoutActsOnWeights():
            yield from _unknown(check.probability, {**interface.constructor, **check.constructor}, path, "probability")
        case c.Raises():
            yield from unknown_sizes(check.mentions, sizes, (*path, "mentions"))
            yield from _exception_problems(check.errors, path)
        case c.AttributeEquals(name=name, equals=str(value)) if value not in sizes:
            if value == name or nearest(value, sizes):
                yield from unknown_sizes([value], sizes, (*path, "equals"), is_item=False)
        case c.WeightsTransfer():
            for name in check.to:
                yield from unknown_sizes([name], sizes, (*path, "to", name), is_item=False)
    if isinstance(check, c.MaskHides):
        yield from _mask_problems(check.mask, MaskKind.PADDING, check.inputs, path)
    if isinstance(check, c.MaskedRowsStayFinite):
        yield from _mask_problems(check.mask, MaskKind.DEAD_ROW, inputs, path)
    yield from _output_problems(exercise, check, path)
    for index, name in enumerate(check.defaults):
        if name not in interface.constructor:
            yield _unknown_name(
                "an argument of the interface's constructor", name, interface.constructor, (*path, "defaults", index)
            )
    ids = [defect.id for defect in exercise.defects]
    for index, name in enumerate(check.for_ if ids else ()):
        if name not in ids:
            yield _unknown_name("a defect", name, ids, (*path, "for", index))


def _unknown_name(what: str, name: str, known: Iterable[str], path: Path) -> Problem:
    near = nearest(name, known)
    return Problem(
        path, f"{what}: {listed(known, 'or')}", quoted(name), f"write {near}" if near else "write one of them"
    )


def _unknown(name: str, known: Iterable[str], path: Path, key: str) -> Iterator[Problem]:
    """A name that is not among those declared under the interface or the check."""
    names = list(known)
    if name not in names:
        near = nearest(name, names) or (names[0] if len(names) == 1 else "")
        what = "an argument of the constructor" if key == "probability" else "an input"
        remedy = f"write {key}: {near}" if near else f"declare {name} under the interface or here, or name another"
        yield Problem((*path, key), f"{what}: {listed(names, 'or')}", quoted(name), remedy)


def _input_problems(name: str, axis: int, inputs: dict[str, Any], path: Path) -> Iterator[Problem]:
    tensors = {each: spec for each, spec in inputs.items() if isinstance(spec, list)}
    yield from _unknown(name, tensors, path, "input")
    if name in tensors and not -len(tensors[name]) <= axis < len(tensors[name]):
        rank = len(tensors[name])
        yield Problem((*path, "axis"), f"an axis of {name}, from 0 to {rank - 1}", str(axis), f"write axis: {rank - 1}")


def _mask_problems(name: str, kind: MaskKind, inputs: dict[str, Any], path: Path) -> Iterator[Problem]:
    masks = {each: spec for each, spec in inputs.items() if isinstance(spec, MaskInput)}
    if not masks:
        remedy = f"write inputs: {{{name}: {{mask: {kind}, shape: [tokens, tokens]}}}}"
        yield Problem((*path, "mask"), "a mask among the check's inputs", "none", remedy)
        return
    yield from _unknown(name, masks, path, "mask")
    if name in masks and masks[name].mask is not kind:
        at = (*path, "inputs", name, "mask")
        yield Problem(at, f"{kind}, which this property looks at", str(masks[name].mask), f"write mask: {kind}")


def _exception_problems(errors: tuple[str, ...], path: Path) -> Iterator[Problem]:
    """Misspelt exceptions; a name unlike any of Python's may be one that the submission defines."""
    if not errors:
        yield Problem((*path, "errors"), "at least one exception", "none", "write errors: [ValueError]")
    for index, name in enumerate(errors):
        near = nearest(name, EXCEPTIONS)
        if near and name not in EXCEPTIONS:
            yield Problem((*path, "errors", index), "an exception", quoted(name), f"write {near}")


def _output_problems(exercise: Exercise, check: Check, path: Path) -> Iterator[Problem]:
    outputs = exercise.interface.outputs
    looks_at_output = isinstance(check, c.FutureDoesNotLeak | c.MaskHides | c.SamplesDoNotMix) or (
        isinstance(check, c.RowsSumToOne) and not check.attribute
    )
    if not looks_at_output or check.method or not outputs:
        return
    output: int = check.output  # type: ignore[attr-defined]  # the four above have one
    if output >= len(outputs):
        what = f"an output from 0 to {len(outputs) - 1}" if len(outputs) > 1 else "0, the only output"
        yield Problem((*path, "output"), what, str(output), f"write output: {len(outputs) - 1}")
    elif isinstance(check, c.RowsSumToOne) and not -len(outputs[output]) <= check.axis < len(outputs[output]):
        rank = len(outputs[output])
        yield Problem(
            (*path, "axis"), f"an axis of the output, from 0 to {rank - 1}", str(check.axis), "write axis: -1"
        )
