"""The arguments of a property: inputs, outputs, axes, sizes and exceptions that exist."""

import builtins
from collections.abc import Iterable, Iterator
from typing import Any

from grader.exercise import checks as c
from grader.exercise.checks import Check, MaskInput, MaskKind
from grader.exercise.problem import Path, Problem, listed, nearest, quoted
from grader.exercise.records import Exercise
from grader.exercise.sizes import unknown_sizes

AN_ARGUMENT = "an argument of the constructor"
EXCEPTIONS = [
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
]


def argument_problems(exercise: Exercise, check: Check, sizes: set[str], path: Path) -> Iterator[Problem]:
    """Arguments of the check that name what is not there."""
    inputs = check.inputs if check.method else {**exercise.interface.inputs, **check.inputs}
    constructor = {**exercise.interface.constructor, **check.constructor}
    match check:
        case c.FutureDoesNotLeak() | c.MaskHides() | c.SamplesDoNotMix():
            yield from _input_problems(check.input, check.axis, inputs, path)
        case c.DropoutOnlyInTraining() | c.DropoutActsOnWeights():
            yield from _unknown(AN_ARGUMENT, check.probability, constructor, (*path, "probability"))
        case c.Raises():
            yield from unknown_sizes(check.mentions, sizes, (*path, "mentions"))
            yield from _exception_problems(check.errors, path)
        case c.AttributeEquals(name=name, equals=str(value)):
            if value not in sizes and (value == name or nearest(value, sizes)):
                yield from unknown_sizes([value], sizes, (*path, "equals"), is_item=False)
        case c.WeightsTransfer():
            for name in check.to:
                yield from unknown_sizes([name], sizes, (*path, "to", name), is_item=False)
    if isinstance(check, c.MaskHides):
        yield from _mask_problems(check.mask, MaskKind.PADDING, check.inputs, path)
    if isinstance(check, c.MaskedRowsStayFinite):
        yield from _mask_problems(check.mask, MaskKind.DEAD_ROW, inputs, path)
    yield from _output_problems(exercise, check, path)
    yield from _reference_problems(exercise, check, path)


def _reference_problems(exercise: Exercise, check: Check, path: Path) -> Iterator[Problem]:
    """Arguments and defects that a check of any property may name."""
    for index, name in enumerate(check.defaults):
        yield from _unknown(AN_ARGUMENT, name, exercise.interface.constructor, (*path, "defaults", index))
    if not exercise.is_public():
        for index, name in enumerate(check.for_):
            yield from _unknown("a defect", name, [defect.id for defect in exercise.defects], (*path, "for", index))


def _unknown(what: str, name: str, known: Iterable[str], path: Path) -> Iterator[Problem]:
    """A name that is not among those declared."""
    names = list(known)
    if name not in names:
        near = nearest(name, names) or (names[0] if len(names) == 1 else "")
        key = f"{path[-1]}: " if isinstance(path[-1], str) else ""
        remedy = f"write {key}{near}" if near else f"write one of them, or declare {name} too"
        yield Problem(path, f"{what}: {listed(names, 'or')}", quoted(name), remedy)


def _input_problems(name: str, axis: int, inputs: dict[str, Any], path: Path) -> Iterator[Problem]:
    tensors = {each: spec for each, spec in inputs.items() if isinstance(spec, list)}
    yield from _unknown("an input", name, tensors, (*path, "input"))
    if name in tensors and not -len(tensors[name]) <= axis < len(tensors[name]):
        rank = len(tensors[name])
        yield Problem((*path, "axis"), f"an axis of {name}, from 0 to {rank - 1}", str(axis), f"write axis: {rank - 1}")


def _mask_problems(name: str, kind: MaskKind, inputs: dict[str, Any], path: Path) -> Iterator[Problem]:
    masks = {each: spec for each, spec in inputs.items() if isinstance(spec, MaskInput)}
    if not masks:
        remedy = f"write inputs: {{{name}: {{mask: {kind}, shape: [tokens, tokens]}}}}"
        yield Problem((*path, "mask"), "a mask among the check's inputs", "none", remedy)
        return
    yield from _unknown("a mask", name, masks, (*path, "mask"))
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
