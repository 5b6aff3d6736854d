"""What a description says, where its values have the right types: names that exist, parts that go together."""

from collections.abc import Iterator, Sequence
from math import prod
from operator import mul
from typing import Any

from grader.spec.exercise import Defect, Exercise
from grader.spec.fields import NAME, PATTERNS, FixedSizes, Inputs, MadeInput, names_in, size_names
from grader.spec.interface import Interface
from grader.spec.problem import KeyPath, Problem, listed, nearest, quoted
from grader.spec.properties import AN_ARGUMENT, Property, unknown_name, unknown_sizes


def unsound_parts(exercise: Exercise) -> Iterator[Problem]:
    """Every part that cannot be meant; checks have their ids already."""
    yield from exercise.edition.problems(defects=len(exercise.defects), decoy=exercise.decoy)
    yield from _repeated_ids(exercise.defects, "defects")
    yield from _repeated_ids(exercise.checks, "checks")
    for index, defect in enumerate(exercise.defects):
        yield from _defect_problems(defect, ("defects", index))
    for index, each in enumerate(exercise.equivalents):
        if each.was.strip() == each.becomes.strip():
            yield Problem(("equivalents", index, "becomes"), "another text than was", "the same", "write the change")
    if not exercise.fixed_sizes:
        yield Problem(("sizes",), "at least one size case", "none", "write sizes: [{batch: 1, tokens: 5}]")
    yield from size_problems(exercise.fixed_sizes, ("sizes",))
    yield from random_size_problems(exercise)
    yield from _sizes_beyond_reason(exercise.fixed_sizes, exercise.interface.inputs, ("sizes",))
    yield from _interface_problems(exercise)
    for index, check in enumerate(exercise.checks):
        yield from _check_problems(exercise, check, ("checks", index))
    for index, defect in enumerate(exercise.defects):
        for number, usual in enumerate(defect.missed_by):
            yield from _check_problems(exercise, usual.test, ("defects", index, "missed_by", number, "test"))


LARGEST_SIZE = 100_000
MOST_NUMBERS = 1_000_000
"""In one input: what is larger takes seconds to draw and to send, and shows nothing that less does not."""


def _sizes_beyond_reason(fixed_sizes: FixedSizes, inputs: Inputs, path: KeyPath) -> Iterator[Problem]:
    """Sizes that no machine grades in time."""
    for index, size_case in enumerate(fixed_sizes):
        large = [name for name, size in size_case.items() if size > LARGEST_SIZE]
        for name in large:
            expected = f"a size of at most {LARGEST_SIZE:,}"
            yield Problem(
                (*path, index, name), expected, f"{size_case[name]:,}", "write a size of at most a few hundred"
            )
        for name, spec in inputs.items() if not large else ():
            shape = spec.shape if isinstance(spec, MadeInput) else spec
            if not isinstance(shape, list):
                continue
            numbers = prod(size_case.get(size, 1) if isinstance(size, str) else size for size in shape)
            if numbers > MOST_NUMBERS:
                found = f"{numbers:,} in {name}"
                remedy = f"write smaller sizes for {listed([str(size) for size in shape])}"
                yield Problem((*path, index), f"inputs of at most {MOST_NUMBERS:,} numbers", found, remedy)


def _repeated_ids(records: Sequence[Defect | Property], part: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, record in enumerate(records):
        if record.id in first:
            found = f"{record.id}, as {part}[{first[record.id]}] has it"
            yield Problem((part, index, "id"), "an id of its own", found, f"write id: {record.id}_{index}")
        first.setdefault(record.id, index)


def _defect_problems(defect: Defect, path: KeyPath) -> Iterator[Problem]:
    was, fix = ([part] if isinstance(part, str) else part for part in (defect.was, defect.fix))
    if len(was) != len(fix):
        found = f"{len(fix)} for {len(was)} in was"
        yield Problem((*path, "fix"), "as many fragments as was has", found, "pair each fragment with what replaces it")
    elif not was:
        yield Problem((*path, "was"), "at least one fragment", "an empty list", "write the lines of the starter")
    for index, (old, new) in enumerate(zip(was, fix, strict=False)):
        at = () if isinstance(defect.fix, str) else (index,)
        if not old.strip() or not new.strip():
            part = "fix" if old.strip() else "was"
            yield Problem((*path, part, *at), "a line of code", "none", "take in a line beside it, in was and in fix")
        elif old.strip() == new.strip():
            remedy = "write the line as it is once mended"
            yield Problem((*path, "fix", *at), "another text than was", f"the same, {quoted(new)}", remedy)
    for index, hint in enumerate(defect.hints):
        if hint.strip() in [other.strip() for other in defect.hints[:index]]:
            found = f"hints[{defect.hints.index(hint)}] again"
            yield Problem((*path, "hints", index), "a hint that says more than the ones before", found, "write another")


def _interface_problems(exercise: Exercise) -> Iterator[Problem]:
    interface, sizes = exercise.interface, size_names(exercise.fixed_sizes)
    yield from _entry_problems(interface)
    if not exercise.fixed_sizes:
        return
    yield from _constructor_problems(interface.constructor, sizes, ("interface", "constructor"))
    for name, spec in interface.inputs.items():
        yield from _input_problems(spec, sizes, ("interface", "inputs", name))
    for index, shape in enumerate(interface.outputs):
        yield from unknown_sizes(shape, sizes, ("interface", "outputs", index))
    if not interface.outputs:
        yield Problem(("interface", "outputs"), "at least one shape", "none", "write outputs: [[batch, tokens, width]]")


def _entry_problems(interface: Interface) -> Iterator[Problem]:
    """A class or a function, as the kind has it, and not both."""
    kind = interface.kind
    wanted = ["class"] * kind.offers_class + ["function"] * kind.offers_function
    given = [name for name, value in (("class", interface.class_name), ("function", interface.function)) if value]
    if not given:
        example = "MultiHeadAttention" if wanted[0] == "class" else "label_smoothing"
        path = ("interface", wanted[0])
        yield Problem(path, PATTERNS[NAME], "no such key", f"write {wanted[0]}: {example}")
    for name in given:
        if name not in wanted:
            of = f"a {wanted[0]}, which {kind.phrase()} is"
            yield Problem(("interface", name), of, f"a {name}", f"write {wanted[0]}: and its name", at_key=True)
    if given == ["class", "function"] == wanted:
        yield Problem(("interface", "function"), "a class or a function", "both", "take one of them out", at_key=True)


def _constructor_problems(constructor: dict[str, Any], sizes: set[str], path: KeyPath) -> Iterator[Problem]:
    """Texts that look like the name of a size and are none; other texts are passed on as they are."""
    for name, value in constructor.items():
        if isinstance(value, str) and value not in sizes and (value == name or nearest(value, sizes)):
            yield from unknown_sizes([value], sizes, (*path, name), is_item=False)


def _input_problems(spec: Any, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
    """A shape of unknown sizes, a mask without the axes it names, whole numbers of which there are none."""
    if isinstance(spec, list):
        yield from unknown_sizes(spec, sizes, path)
    elif isinstance(spec, MadeInput):
        yield from unknown_sizes(spec.shape, sizes, (*path, "shape"))
        yield from _mask_problems(spec, path) if spec.is_mask() else _numbers_problems(spec, sizes, path)
    elif isinstance(spec, str) and (spec in sizes or nearest(spec, sizes)):
        yield Problem(path, "a shape, a made tensor or a number", quoted(spec), f"write {path[-1]}: [{spec}]")


def _mask_problems(spec: MadeInput, path: KeyPath) -> Iterator[Problem]:
    rank = len(spec.shape)
    for name, default in (("start", 0), ("ignored", None), ("between", None)):
        if getattr(spec, name) != default:
            yield Problem((*path, name), "a mask alone", f"{name} beside mask", "take one of them out", at_key=True)
    if not isinstance(spec.integers, bool):
        remedy = "write integers: true for a mask of ones and zeros"
        yield Problem((*path, "integers"), "true or false beside mask", str(spec.integers), remedy)
    if rank < len(spec.axes):
        yield Problem((*path, "shape"), "at least two axes", str(rank), "write shape: [tokens, tokens]")
        return
    for index, axis in enumerate(spec.axes):
        if not -rank <= axis < rank:
            yield _axis_problem(axis, rank, (*path, "axes", index))
    if len({axis % rank for axis in spec.axes}) == 1:
        yield Problem((*path, "axes"), "two different axes", f"{spec.axes[0]} twice", "write axes: [-2, -1]")


def _numbers_problems(spec: MadeInput, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
    """What is wrong with a tensor of whole numbers, or of numbers between bounds."""
    if spec.between is not None:
        if spec.integers is not False:
            yield Problem((*path, "integers"), "between alone", "integers beside it", "take it out", at_key=True)
        elif not spec.between[0] < spec.between[1]:
            found = f"{spec.between[0]:g} and {spec.between[1]:g}"
            yield Problem((*path, "between"), "a smaller and a larger number", found, "write between: [0.0, 1.0]")
    elif isinstance(spec.integers, bool):
        remedy = "write mask: causal, integers: vocab or between: [0.0, 1.0]"
        yield Problem(path, "what it is made of: mask, integers or between", "none of them", remedy)
    elif isinstance(spec.integers, str):
        yield from unknown_sizes([spec.integers], sizes, (*path, "integers"), is_item=False)
    elif spec.integers + spec.inclusive <= spec.start:
        expected = f"a number above {spec.start}, the smallest"
        yield Problem((*path, "integers"), expected, str(spec.integers), f"write integers: {spec.start + 2}")


def _axis_problem(axis: int, rank: int, path: KeyPath) -> Problem:
    """An axis that a tensor does not have."""
    return Problem(path, f"an axis from {-rank} to {rank - 1}", str(axis), f"write {rank - 1} for the last one")


def _check_problems(exercise: Exercise, check: Property, path: KeyPath) -> Iterator[Problem]:
    fixed_sizes = check.sizes or exercise.fixed_sizes
    yield from size_problems(check.sizes, (*path, "sizes"))
    inputs = check.inputs if check.method else {**exercise.interface.inputs, **check.inputs}
    yield from _sizes_beyond_reason(check.sizes, inputs, (*path, "sizes"))
    if not fixed_sizes:
        return
    sizes = size_names(fixed_sizes)
    yield from _constructor_problems(check.constructor, sizes, (*path, "constructor"))
    for name, spec in check.inputs.items():
        yield from _input_problems(spec, sizes, (*path, "inputs", name))
    if check.sizes:
        yield from missing_sizes(exercise, check, path)
    if isinstance(check, Property) and check.needs_module and not exercise.interface.kind.is_module:
        found = f"{check.__struct_config__.tag} for {exercise.interface.kind.phrase()}"
        yield Problem((*path, "property"), "a property that is not of modules alone", found, "take the check out")
    yield from argument_problems(exercise, check, sizes, path)


def size_problems(fixed_sizes: FixedSizes, path: KeyPath) -> Iterator[Problem]:
    """Size cases with other names than the first, and size cases in which two sizes are the same."""
    names = next(filter(None, fixed_sizes), {}).keys()
    for index, size_case in enumerate(fixed_sizes):
        if not size_case:
            yield Problem(
                (*path, index), "a number for every size", "an empty size case", "write {batch: 1, tokens: 5}"
            )
        elif size_case.keys() != names:
            missing, extra = names - size_case.keys(), size_case.keys() - names
            found = [f"no {listed(sorted(missing), 'or')}"] * bool(missing) + [
                f"{listed(sorted(extra))} besides"
            ] * bool(extra)
            remedy = "give every size case the same sizes"
            yield Problem((*path, index), f"the first size case's sizes, {listed(names)}", " and ".join(found), remedy)
        yield from _equal_sizes(size_case, (*path, index), fixed_sizes)


def _equal_sizes(size_case: dict[str, int], path: KeyPath, fixed_sizes: list[dict[str, int]]) -> Iterator[Problem]:
    """Sizes that are the same and not one: a swapped axis would hide there.

    What is another size times a third on every size case, as a width is the size of a head times their number, may
    be the other where the third is one.
    """
    by_size: dict[int, list[str]] = {}
    for name, size in size_case.items():
        by_size.setdefault(size, []).append(name)
    for size, names in by_size.items():
        if size != 1 and len(names) > 1 and not _is_product(names, fixed_sizes):
            found = f"{listed(names)} of {size} each"
            remedy = f"write another number for {names[-1]}"
            yield Problem((*path, names[-1]), "sizes that differ, so that a swapped axis shows", found, remedy)


def _is_product(names: list[str], fixed_sizes: list[dict[str, int]]) -> bool:
    """Whether one of two sizes is the other times a third on every size case, and not the same on all of them."""
    if any(size_case.keys() != fixed_sizes[0].keys() for size_case in fixed_sizes):
        return False
    match [(name, [size_case[name] for size_case in fixed_sizes]) for name in names]:
        case [(one, ours), (other, theirs)] if ours != theirs:
            factors = [
                [size_case[third] for size_case in fixed_sizes] for third in fixed_sizes[0] if third not in (one, other)
            ]
            products = [list(map(mul, each, factor)) for factor in factors for each in (ours, theirs)]
            return ours in products or theirs in products
    return False


def random_size_problems(exercise: Exercise) -> Iterator[Problem]:
    """Random size cases with other sizes than the fixed ones, ranges that end before they begin, multiples of no
    size.
    """
    names = size_names(exercise.fixed_sizes)
    for index, size_case in enumerate(exercise.random_sizes):
        path: KeyPath = ("sizes", len(exercise.fixed_sizes) + index)
        if size_case.keys() != names:
            wanted, found = f"the sizes of the first size case, {listed(sorted(names))}", listed(sorted(size_case))
            yield Problem(path, wanted, found, "give each of them a number or a range")
        multiples = {name for name, given in size_case.items() if isinstance(given, list) and isinstance(given[0], str)}
        for name, given in size_case.items():
            numbers: list[str | int] = given if isinstance(given, list) else [given, given]
            *factor, low, high = numbers
            if not (isinstance(low, int) and isinstance(high, int) and low <= high):
                yield Problem(
                    (*path, name), "two numbers, the smaller first", listed(map(str, numbers)), "write [2, 6]"
                )
            elif factor:
                yield from unknown_name(
                    "a size that is no multiple itself", str(factor[0]), size_case.keys() - multiples, (*path, name)
                )


def missing_sizes(exercise: Exercise, check: Property, path: KeyPath) -> Iterator[Problem]:
    """Sizes that the interface needs and the check's own sizes does not give."""
    interface = exercise.interface
    specs: list[Any] = [value for name, value in interface.constructor.items() if name not in check.constructor]
    if not check.method:
        specs += [spec for name, spec in interface.inputs.items() if name not in check.inputs]
    specs += check.shapes_needed(interface)
    needed = set().union(*map(names_in, specs)) & size_names(exercise.fixed_sizes)
    for index, size_case in enumerate(check.sizes):
        missing = sorted(needed - size_case.keys())
        if missing and (index == 0 or size_case.keys() == check.sizes[0].keys()):
            found = f"no {listed(missing, 'or')}"
            remedy = f"add {', '.join(f'{name}: 2' for name in missing)}"
            yield Problem((*path, "sizes", index), "the sizes that the interface needs", found, remedy)
            return


def argument_problems(exercise: Exercise, check: Property, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
    """Arguments of the check that name what is not there: those of its property, and those that all have."""
    yield from check.argument_problems(exercise.interface, sizes, path)
    for index, name in enumerate(check.defaults):
        yield from unknown_name(AN_ARGUMENT, name, exercise.interface.constructor, (*path, "defaults", index))
    for index, name in enumerate(check.for_):
        yield from unknown_name("a defect", name, [defect.id for defect in exercise.defects], (*path, "for", index))
