"""Find problems that a schema cannot: names that do not exist, values that contradict each other."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod
from typing import Any

from grader.spec.exercise import Defect, Exercise, NearMiss
from grader.spec.fields import (
    NAME,
    PATTERNS,
    FixedSizes,
    Inputs,
    MadeInput,
    as_list,
    largest_sizes,
    names_in,
    shape_of,
    size_names,
)
from grader.spec.interface import Interface
from grader.spec.problem import KeyPath, Problem, listed, nearest, quoted
from grader.spec.properties import AN_ARGUMENT, Property, unknown_name, unknown_sizes


def soundness_problems(exercise: Exercise) -> Iterator[Problem]:
    """Yield every problem of an exercise whose values have the right types and whose checks have ids."""
    yield from exercise.edition.problems(defects=len(exercise.defects), decoy=exercise.decoy)
    yield from _repeated_ids(exercise.defects, "defects")
    yield from _repeated_ids(exercise.checks, "checks")
    yield from _repeated_ids(exercise.near_misses, "near_misses")
    for index, defect in enumerate(exercise.defects):
        yield from _defect_problems(defect, ("defects", index))
    for index, each in enumerate(exercise.equivalents):
        if each.was.strip() == each.becomes.strip():
            yield Problem(
                path=("equivalents", index, "becomes"),
                expected="a text that differs from was",
                found="the same text",
                remedy="write the lines after the change",
            )
    if exercise.edition.HAS_REFERENCE:
        for index, near_miss in enumerate(exercise.near_misses):
            yield from _near_miss_problems(exercise, near_miss, ("near_misses", index))
    if not exercise.fixed_sizes:
        yield Problem(
            path=("sizes",),
            expected="at least one size case",
            found="none",
            remedy="write sizes: [{batch: 1, tokens: 5}]",
        )
    yield from size_problems(exercise.fixed_sizes, ("sizes",))
    yield from random_size_problems(exercise)
    largest = [largest_sizes(size_case) for size_case in exercise.random_sizes]
    yield from _large_size_problems([*exercise.fixed_sizes, *largest], exercise.interface.inputs, ("sizes",))
    yield from _interface_problems(exercise)
    for index, check in enumerate(exercise.checks):
        yield from _check_problems(exercise, check, ("checks", index))
    for index, defect in enumerate(exercise.defects):
        for number, usual in enumerate(defect.missed_by):
            yield from _check_problems(exercise, usual.test, ("defects", index, "missed_by", number, "test"))


MAX_SIZE = 100_000
MAX_NUMBERS = 1_000_000
"""The most numbers in one input. Larger inputs take seconds to make and send, and reveal no more defects."""


def _large_size_problems(size_cases: FixedSizes, inputs: Inputs, path: KeyPath) -> Iterator[Problem]:
    """Yield a problem for each size, and each input, that is too large to be graded in time."""
    for index, size_case in enumerate(size_cases):
        large = [name for name, size in size_case.items() if size > MAX_SIZE]
        for name in large:
            expected = f"a size of at most {MAX_SIZE:,}"
            yield Problem(
                path=(*path, index, name),
                expected=expected,
                found=f"{size_case[name]:,}",
                remedy="write a size of at most a few hundred",
            )
        for name, spec in inputs.items() if not large else ():
            shape = shape_of(spec)
            if not shape:
                continue
            numbers = prod(size_case.get(size, 1) if isinstance(size, str) else size for size in shape)
            if numbers > MAX_NUMBERS:
                found = f"{numbers:,} in {name}"
                remedy = f"write smaller sizes for {listed([str(size) for size in shape])}"
                yield Problem(
                    path=(*path, index),
                    expected=f"inputs of at most {MAX_NUMBERS:,} numbers",
                    found=found,
                    remedy=remedy,
                )


def _repeated_ids(records: Sequence[Defect | Property | NearMiss], part: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, record in enumerate(records):
        if record.id in first:
            yield Problem(
                path=(part, index, "id"),
                expected="a unique id",
                found=f"{record.id}, the id of {part}[{first[record.id]}]",
                remedy=f"write id: {record.id}_{index}",
            )
        first.setdefault(record.id, index)


def _defect_problems(defect: Defect, path: KeyPath) -> Iterator[Problem]:
    was, fix = as_list(defect.was), as_list(defect.fix)
    if len(was) != len(fix):
        found = f"{len(fix)}, and {len(was)} in was"
        yield Problem(
            path=(*path, "fix"),
            expected="as many fragments as in `was`",
            found=found,
            remedy="pair each fragment with its replacement",
        )
    elif not was:
        yield Problem(
            path=(*path, "was"),
            expected="at least one fragment",
            found="an empty list",
            remedy="write the lines of the starter",
        )
    for index, (old, new) in enumerate(zip(was, fix, strict=False)):
        at = () if isinstance(defect.fix, str) else (index,)
        if not old.strip() or not new.strip():
            part = "fix" if old.strip() else "was"
            yield Problem(
                path=(*path, part, *at),
                expected="a line of code",
                found="none",
                remedy="include a neighbouring line, in was and in fix",
            )
        elif old.strip() == new.strip():
            yield Problem(
                path=(*path, "fix", *at),
                expected="a text that differs from was",
                found=f"the same text, {quoted(new)}",
                remedy="write the line of the reference",
            )
    for index, hint in enumerate(defect.hints):
        if hint.strip() in [other.strip() for other in defect.hints[:index]]:
            yield Problem(
                path=(*path, "hints", index),
                expected="a hint that says more than the hints before it",
                found=f"the text of hints[{defect.hints.index(hint)}]",
                remedy="write another hint",
            )


def _near_miss_problems(exercise: Exercise, near_miss: NearMiss, path: KeyPath) -> Iterator[Problem]:
    ids = [defect.id for defect in exercise.defects]
    if near_miss.defect not in ids:
        yield Problem(
            path=(*path, "defect"),
            expected="the id of a defect",
            found=near_miss.defect,
            remedy=f"write {listed(ids)}" if len(ids) == 1 else f"write one of {listed(ids)}",
        )
    if near_miss.id in ids:
        yield Problem(
            path=(*path, "id"),
            expected="an id that no defect has",
            found=near_miss.id,
            remedy="name what the wrong fix does",
        )
    was, becomes = as_list(near_miss.was), as_list(near_miss.becomes)
    if len(was) != len(becomes):
        yield Problem(
            path=(*path, "becomes"),
            expected="as many fragments as in `was`",
            found=f"{len(becomes)}, and {len(was)} in was",
            remedy="pair each fragment with its replacement",
        )
    elif all(old.strip() == new.strip() for old, new in zip(was, becomes, strict=True)):
        yield Problem(
            path=(*path, "becomes"),
            expected="a text that differs from was",
            found="the same text",
            remedy="write the lines of the wrong fix",
        )


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
        yield Problem(
            path=("interface", "outputs"),
            expected="at least one shape",
            found="none",
            remedy="write outputs: [[batch, tokens, width]]",
        )


def _entry_problems(interface: Interface) -> Iterator[Problem]:
    """Yield problems with `class` and `function`: the kind decides which of them may be given, and only one may."""
    kind = interface.kind
    wanted = ["class"] * kind.offers_class + ["function"] * kind.offers_function
    given = [name for name, value in (("class", interface.class_name), ("function", interface.function)) if value]
    if not given:
        example = "MultiHeadAttention" if wanted[0] == "class" else "label_smoothing"
        path = ("interface", wanted[0])
        yield Problem(path=path, expected=PATTERNS[NAME], found="no such key", remedy=f"write {wanted[0]}: {example}")
    for name in given:
        if name not in wanted:
            yield Problem(
                path=("interface", name),
                expected=f"a {wanted[0]}, because the kind is {kind.noun()}",
                found=f"a {name}",
                remedy=f"write {wanted[0]}: and its name",
                at_key=True,
            )
    if given == ["class", "function"] == wanted:
        yield Problem(
            path=("interface", "function"),
            expected="a class or a function",
            found="both",
            remedy="remove one of them",
            at_key=True,
        )


def _constructor_problems(constructor: dict[str, Any], sizes: set[str], path: KeyPath) -> Iterator[Problem]:
    """Yield a problem for each text that looks like a misspelt size. Other texts are ordinary arguments."""
    for name, value in constructor.items():
        if isinstance(value, str) and value not in sizes and (value == name or nearest(value, sizes)):
            yield from unknown_sizes([value], sizes, (*path, name), is_item=False)


def _input_problems(spec: Any, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
    """Yield problems with one input: unknown sizes, axes that its mask does not have, an empty range of integers."""
    if isinstance(spec, list):
        yield from unknown_sizes(spec, sizes, path)
    elif isinstance(spec, MadeInput):
        yield from unknown_sizes(spec.shape, sizes, (*path, "shape"))
        yield from _mask_problems(spec, path) if spec.is_mask() else _numbers_problems(spec, sizes, path)
    elif isinstance(spec, str) and (spec in sizes or nearest(spec, sizes)):
        yield Problem(
            path=path,
            expected="a shape, a mapping or a number",
            found=quoted(spec),
            remedy=f"write {path[-1]}: [{spec}]",
        )


def _mask_problems(spec: MadeInput, path: KeyPath) -> Iterator[Problem]:
    rank = len(spec.shape)
    for name, default in (("start", 0), ("ignored", None), ("between", None), ("zeros", "")):
        if getattr(spec, name) != default:
            yield Problem(
                path=(*path, name),
                expected=f"mask without {name}",
                found="both",
                remedy="remove one of them",
                at_key=True,
            )
    if not isinstance(spec.integers, bool):
        remedy = "write integers: true for a mask of ones and zeros"
        expected = "true or false for a mask"
        yield Problem(path=(*path, "integers"), expected=expected, found=str(spec.integers), remedy=remedy)
    if rank < len(spec.axes):
        yield Problem(
            path=(*path, "shape"), expected="at least two axes", found=str(rank), remedy="write shape: [tokens, tokens]"
        )
        return
    for index, axis in enumerate(spec.axes):
        if not -rank <= axis < rank:
            yield _axis_problem(axis, rank, (*path, "axes", index))
    if len({axis % rank for axis in spec.axes}) == 1:
        yield Problem(
            path=(*path, "axes"),
            expected="two different axes",
            found=f"{spec.axes[0]} twice",
            remedy="write axes: [-2, -1]",
        )


def _numbers_problems(spec: MadeInput, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
    """Yield problems with a tensor of integers, of uniform numbers or with zeros."""
    if spec.zeros:
        yield from _zeros_problems(spec, path)
    elif spec.between is not None:
        if spec.integers is not False:
            yield Problem(
                path=(*path, "integers"),
                expected="between without integers",
                found="both",
                remedy="remove one of them",
                at_key=True,
            )
        elif not spec.between[0] < spec.between[1]:
            found = f"{spec.between[0]:g} and {spec.between[1]:g}"
            yield Problem(
                path=(*path, "between"),
                expected="two numbers, the smaller first",
                found=found,
                remedy="write between: [0.0, 1.0]",
            )
    elif isinstance(spec.integers, bool):
        remedy = "write mask: causal, integers: vocab or between: [0.0, 1.0]"
        yield Problem(
            path=path, expected="one of mask, integers, between and zeros", found="none of them", remedy=remedy
        )
    elif isinstance(spec.integers, str):
        yield from unknown_sizes([spec.integers], sizes, (*path, "integers"), is_item=False)
    elif spec.integers + spec.inclusive <= spec.start:
        expected = f"a number above start, which is {spec.start}"
        yield Problem(
            path=(*path, "integers"),
            expected=expected,
            found=str(spec.integers),
            remedy=f"write integers: {spec.start + 2}",
        )


def _zeros_problems(spec: MadeInput, path: KeyPath) -> Iterator[Problem]:
    for name, default in (("integers", False), ("between", None)):
        if getattr(spec, name) != default:
            expected = f"zeros without {name}"
            yield Problem(path=(*path, name), expected=expected, found="both", remedy="remove one of them", at_key=True)
    names = [size for size in spec.shape if isinstance(size, str)]
    if spec.zeros not in names:
        yield from unknown_name("an axis of the shape", spec.zeros, names, (*path, "zeros"))


def _axis_problem(axis: int, rank: int, path: KeyPath) -> Problem:
    """Return the problem of an axis that the tensor does not have."""
    return Problem(
        path=path,
        expected=f"an axis from {-rank} to {rank - 1}",
        found=str(axis),
        remedy=f"write {rank - 1} for the last axis",
    )


def _check_problems(exercise: Exercise, check: Property, path: KeyPath) -> Iterator[Problem]:
    fixed_sizes = exercise.fixed_sizes_of(check)
    yield from size_problems(check.sizes, (*path, "sizes"))
    inputs = check.inputs if check.method else {**exercise.interface.inputs, **check.inputs}
    yield from _large_size_problems(check.sizes, inputs, (*path, "sizes"))
    if not fixed_sizes:
        return
    sizes = size_names(fixed_sizes)
    yield from _constructor_problems(check.constructor, sizes, (*path, "constructor"))
    for name, spec in check.inputs.items():
        yield from _input_problems(spec, sizes, (*path, "inputs", name))
    if check.sizes:
        yield from missing_sizes(exercise, check, path)
    if check.needs_module and not exercise.interface.kind.is_module:
        tag, kind = check.__struct_config__.tag, exercise.interface.kind.phrase()
        yield Problem(
            path=(*path, "property"),
            expected=f"a property that can check {kind}",
            found=f"{tag}, which checks only modules",
            remedy="remove the check",
        )
    if check.variation_class() and check.variation_class() not in exercise.variations:
        yield _missing_variation(check.variation_class(), [*exercise.variations], (*path, "variation"))
    yield from argument_problems(exercise, check, sizes, path)


def _missing_variation(name: str, known: list[str], path: KeyPath) -> Problem:
    near = nearest(name, known)
    return Problem(
        path=path,
        expected=f"a class in variations.py: {listed(known, 'or')}" if known else "a class in variations.py",
        found=quoted(name),
        remedy=f"write {near}" if near else f"write class {name} in variations.py, beside this file",
    )


def size_problems(fixed_sizes: FixedSizes, path: KeyPath) -> Iterator[Problem]:
    """Yield problems with size cases whose names differ from the first case's, or whose sizes are equal."""
    names = next(filter(None, fixed_sizes), {}).keys()
    for index, size_case in enumerate(fixed_sizes):
        if not size_case:
            yield Problem(
                path=(*path, index),
                expected="a number for every size",
                found="an empty size case",
                remedy="write {batch: 1, tokens: 5}",
            )
        elif size_case.keys() != names:
            missing, extra = names - size_case.keys(), size_case.keys() - names
            found = [f"no {listed(sorted(missing), 'or')}"] if missing else []
            found += [f"also {listed(sorted(extra))}"] if extra else []
            yield Problem(
                path=(*path, index),
                expected=f"the names of the first size case, {listed(names)}",
                found=" and ".join(found),
                remedy="give every size case the same names",
            )
        yield from _equal_sizes(size_case, (*path, index), fixed_sizes)


def _equal_sizes(size_case: dict[str, int], path: KeyPath, fixed_sizes: list[dict[str, int]]) -> Iterator[Problem]:
    """Yield a problem for sizes of one case that are equal here and in all other cases: a swapped axis stays hidden.

    Sizes of 1 may be equal.
    """
    by_size: dict[int, list[str]] = {}
    for name, size in size_case.items():
        by_size.setdefault(size, []).append(name)
    for size, names in by_size.items():
        if size != 1 and any(_never_differ(pair, fixed_sizes) for pair in combinations(names, 2)):
            yield Problem(
                path=(*path, names[-1]),
                expected="different sizes, because equal ones hide a swapped axis",
                found=f"{size} for {listed(names)}",
                remedy=f"write another number for {names[-1]}",
            )


def _never_differ(pair: tuple[str, str], fixed_sizes: list[dict[str, int]]) -> bool:
    """Return whether two sizes are equal in every size case that has both."""
    one, other = pair
    return all(each[one] == each[other] for each in fixed_sizes if one in each and other in each)


def random_size_problems(exercise: Exercise) -> Iterator[Problem]:
    """Yield problems with random size cases: names unlike those of the fixed ones, empty ranges, unknown factors."""
    names = size_names(exercise.fixed_sizes)
    for index, size_case in enumerate(exercise.random_sizes):
        path: KeyPath = ("sizes", len(exercise.fixed_sizes) + index)
        if size_case.keys() != names:
            expected, found = f"the names of the first size case, {listed(sorted(names))}", listed(sorted(size_case))
            yield Problem(path=path, expected=expected, found=found, remedy="give each name a number or a range")
        multiples = {name for name, size in size_case.items() if isinstance(size, list) and isinstance(size[0], str)}
        for name, size in size_case.items():
            numbers: list[str | int] = size if isinstance(size, list) else [size, size]
            *factor, low, high = numbers
            if not (isinstance(low, int) and isinstance(high, int) and low <= high):
                yield Problem(
                    path=(*path, name),
                    expected="two numbers, the smaller first",
                    found=listed(map(str, numbers)),
                    remedy="write [2, 6]",
                )
            elif factor:
                known = size_case.keys() - multiples
                yield from unknown_name("a size that is not itself a multiple", str(factor[0]), known, (*path, name))


def missing_sizes(exercise: Exercise, check: Property, path: KeyPath) -> Iterator[Problem]:
    """Yield a problem for sizes of the interface that are missing in the check's own size cases."""
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
            expected = "the sizes that the interface uses"
            yield Problem(path=(*path, "sizes", index), expected=expected, found=found, remedy=remedy)
            return


def argument_problems(exercise: Exercise, check: Property, sizes: set[str], path: KeyPath) -> Iterator[Problem]:
    """Yield problems with the arguments of a check's property, and with `defaults` and `for`."""
    yield from check.argument_problems(exercise.interface, sizes, path)
    for index, name in enumerate(check.defaults):
        yield from unknown_name(AN_ARGUMENT, name, exercise.interface.constructor, (*path, "defaults", index))
    for index, name in enumerate(check.for_):
        yield from unknown_name("a defect", name, [defect.id for defect in exercise.defects], (*path, "for", index))
