"""The arguments of a property: inputs, outputs, axes, sizes and exceptions that exist."""

import builtins
from collections.abc import Iterable, Iterator
from typing import Any

from grader.course import checks as c
from grader.course.checks import Check, Ladder, MaskInput, MaskKind, ReturnsShapes
from grader.course.problem import Path, Problem, listed, nearest, quoted
from grader.course.records import Exercise


def size_names(ladder: Ladder) -> set[str]:
    """The names that some rung gives."""
    return {name for rung in ladder for name in rung}


def ladder_problems(ladder: Ladder, path: Path) -> Iterator[Problem]:
    """Rungs with other names than the first, and rungs in which two sizes are the same."""
    names = next(filter(None, ladder), {}).keys()
    for index, rung in enumerate(ladder):
        if not rung:
            yield Problem((*path, index), "a number for every size", "an empty rung", "write {batch: 1, tokens: 5}")
        elif rung.keys() != names:
            missing, extra = names - rung.keys(), rung.keys() - names
            found = [f"no {listed(sorted(missing), 'or')}"] * bool(missing) + [
                f"{listed(sorted(extra))} besides"
            ] * bool(extra)
            remedy = "give every rung the same sizes"
            yield Problem((*path, index), f"the first rung's sizes, {listed(names)}", " and ".join(found), remedy)
        yield from _equal_sizes(rung, (*path, index))


def _equal_sizes(rung: dict[str, int], path: Path) -> Iterator[Problem]:
    """Sizes that are the same and not one: a swapped axis would hide there."""
    alike: dict[int, list[str]] = {}
    for name, size in rung.items():
        alike.setdefault(size, []).append(name)
    for size, names in alike.items():
        if size != 1 and len(names) > 1:
            found = f"{listed(names)} of {size} each"
            remedy = f"write another number for {names[-1]}"
            yield Problem((*path, names[-1]), "sizes that differ, so that a swapped axis shows", found, remedy)


def unknown_sizes(names: Iterable[Any], sizes: set[str], path: Path, *, is_item: bool = True) -> Iterator[Problem]:
    """Names that no rung of the ladder gives; `is_item` where each lies in a list at the path."""
    for index, name in enumerate(names):
        if isinstance(name, str) and name not in sizes:
            near = nearest(name, sizes)
            remedy = f"write {near}" if near else "write one of them, or add it to every rung"
            known = f"a size that the ladder gives: {listed(sorted(sizes), 'or')}"
            yield Problem((*path, index) if is_item else path, known, quoted(name), remedy)


def names_in(spec: Any) -> set[str]:
    """The names of sizes in a shape, a mask or a constructor's value."""
    shape = spec.shape if isinstance(spec, MaskInput) else spec if isinstance(spec, list) else [spec]
    return {name for name in shape if isinstance(name, str)}


def missing_on_ladder(exercise: Exercise, check: Check, path: Path) -> Iterator[Problem]:
    """Sizes that the interface needs and the check's own ladder does not give."""
    interface = exercise.interface
    specs: list[Any] = [value for name, value in interface.constructor.items() if name not in check.constructor]
    if not check.method:
        specs += [spec for name, spec in interface.inputs.items() if name not in check.inputs]
    if isinstance(check, ReturnsShapes):
        specs += interface.outputs
    needed = set().union(*map(names_in, specs)) & size_names(exercise.ladder)
    for index, rung in enumerate(check.ladder):
        missing = sorted(needed - rung.keys())
        if missing and (index == 0 or rung.keys() == check.ladder[0].keys()):
            found = f"no {listed(missing, 'or')}"
            remedy = f"add {', '.join(f'{name}: 2' for name in missing)}"
            yield Problem((*path, "ladder", index), "the sizes that the interface needs", found, remedy)
            return


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
