"""What a description's checks may say: kinds of subject, the fields of every check, and arguments of properties.

Each property adds its own arguments (`checks/properties/`); here stands what several look at: inputs, outputs,
axes, sizes and exceptions that exist.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from operator import mul
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, field

from grader.spec.problem import KeyPath, Problem, listed, nearest, quoted

if TYPE_CHECKING:
    from grader.checks.properties import Property
    from grader.spec.exercise import Exercise


TEXT = r"\S"
NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
LINK = r"^https?://\S+$"

PATTERNS = {
    TEXT: "text",
    NAME: "a name of letters, digits and underscores",
    ID: "a name of letters, digits, - and _",
    LINK: "a link that begins with https://",
}
"""What each pattern asks for, in words."""

LONGEST = 86_400
"""A day, in seconds."""

Text = Annotated[str, Meta(pattern=TEXT)]
Name = Annotated[str, Meta(pattern=NAME)]
Id = Annotated[str, Meta(pattern=ID)]
Fragments = Annotated[str, Meta(min_length=1)] | list[Text]
"""One fragment or several. msgspec 0.22 corrupts memory where a string with a pattern and a list are alternatives."""

Link = Annotated[str, Meta(pattern=LINK)]
Size = Annotated[int, Meta(ge=1)]
Index = Annotated[int, Meta(ge=0)]
Points = Annotated[float, Meta(gt=0, le=1000)]
Duration = Annotated[float, Meta(gt=0, le=LONGEST)]

Literal = bool | int | float | str | None
Shape = Annotated[list[Name | Size], Meta(max_length=8)]
Arguments = Annotated[dict[Name, Literal], Meta(max_length=32)]
Sizes = Annotated[dict[Name, Size], Meta(max_length=16)]
FixedSizes = Annotated[list[Sizes], Meta(max_length=32)]
Range = Annotated[list[Name | Size], Meta(min_length=2, max_length=3)]
"""A random size: between two numbers, or a multiple of another size, as in `[2, 6]` and `[num_heads, 3, 7]`."""

SizeCase = Annotated[dict[Name, Size | Range], Meta(max_length=16)]
SizeCases = Annotated[list[SizeCase], Meta(max_length=48)]
"""Fixed sizes from the smallest up. From the first size case with a range on, the cases are the random ones."""


class MaskKind(StrEnum):
    """What a made mask hides."""

    CAUSAL = "causal"
    RANDOM = "random"
    PADDING = "padding"
    DEAD_ROW = "dead_row"


class MadeInput(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tensor that is not Gaussian: a mask, whole numbers (`integers`), or numbers within bounds (`between`)."""

    shape: Shape
    """Its shape."""
    mask: MaskKind | None = None
    """A mask, true where a query may look at a key: what it hides."""
    axes: tuple[int, int] = (-2, -1)
    """The axes of a mask's queries and keys."""
    integers: bool | int | str = False
    """Whole numbers below this one, a size or a number; `true` for a mask of ones and zeros."""
    start: int = 0
    """The smallest of the whole numbers."""
    inclusive: bool = False
    """Whether `integers` itself occurs too, as in lengths of texts of which one is as long as there are tokens."""
    ignored: int | None = None
    """A whole number that stands in some of the places besides, such as -100 for labels that do not count."""
    between: tuple[float, float] | None = None
    """Numbers drawn evenly between these two."""

    def is_mask(self) -> bool:
        return self.mask is not None


Inputs = Annotated[dict[Name, Shape | MadeInput | Literal], Meta(max_length=32)]


class Check(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    tag_field="property",
    omit_defaults=True,  # some would not pass for what may be given, and are not when it is remembered
):
    """What every property takes."""

    id: Id = ""
    """Names the check in verdicts; the property's name unless given."""
    constructor: Arguments = {}
    """Added to the interface's, or in place of them."""
    inputs: Inputs = {}
    """Added to the interface's, or in place of them; for a `method`, all there are."""
    sizes: FixedSizes = []
    """Walked in place of the exercise's."""
    method: Name = ""
    """Called in place of the module."""
    training: bool = False
    """Whether the module is left in training mode."""
    defaults: tuple[Name, ...] = ()
    """The constructor's arguments that are left out, so that their defaults count."""
    for_: tuple[Id, ...] = field(default=(), name="for")
    """The only defects that it may see when they stand alone; any unless given."""

    def variation_source(self) -> str:
        """Python whose class `Variation` is built in place of the submission's; empty where that is built itself."""
        return ""

    def all_inputs(self, exercise: "Exercise") -> dict[str, Any]:
        """The inputs it is tried with: the interface's and its own, or for a method its own alone."""
        return self.inputs if self.method else {**exercise.interface.inputs, **self.inputs}


def size_names(fixed_sizes: FixedSizes) -> set[str]:
    """The names that some size case gives."""
    return {name for size_case in fixed_sizes for name in size_case}


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
    alike: dict[int, list[str]] = {}
    for name, size in size_case.items():
        alike.setdefault(size, []).append(name)
    for size, names in alike.items():
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


def random_size_problems(exercise: "Exercise") -> Iterator[Problem]:
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


def unknown_sizes(names: Iterable[Any], sizes: set[str], path: KeyPath, *, is_item: bool = True) -> Iterator[Problem]:
    """Names that no size case gives; `is_item` where each lies in a list at the path."""
    for index, name in enumerate(names):
        if isinstance(name, str) and name not in sizes:
            near = nearest(name, sizes)
            remedy = f"write {near}" if near else "write one of them, or add it to every size case"
            known = f"a size that `sizes` gives: {listed(sorted(sizes), 'or')}"
            yield Problem((*path, index) if is_item else path, known, quoted(name), remedy)


def names_in(spec: Any) -> set[str]:
    """The names of sizes in a shape, a mask or a constructor's value."""
    shape = [*spec.shape, spec.integers] if isinstance(spec, MadeInput) else spec if isinstance(spec, list) else [spec]
    return {name for name in shape if isinstance(name, str)}


def missing_sizes(exercise: "Exercise", check: "Property", path: KeyPath) -> Iterator[Problem]:
    """Sizes that the interface needs and the check's own sizes does not give."""
    interface = exercise.interface
    specs: list[Any] = [value for name, value in interface.constructor.items() if name not in check.constructor]
    if not check.method:
        specs += [spec for name, spec in interface.inputs.items() if name not in check.inputs]
    specs += check.shapes_needed(exercise)
    needed = set().union(*map(names_in, specs)) & size_names(exercise.fixed_sizes)
    for index, size_case in enumerate(check.sizes):
        missing = sorted(needed - size_case.keys())
        if missing and (index == 0 or size_case.keys() == check.sizes[0].keys()):
            found = f"no {listed(missing, 'or')}"
            remedy = f"add {', '.join(f'{name}: 2' for name in missing)}"
            yield Problem((*path, "sizes", index), "the sizes that the interface needs", found, remedy)
            return


AN_ARGUMENT = "an argument of the constructor"


def argument_problems(exercise: "Exercise", check: "Property", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
    """Arguments of the check that name what is not there: those of its property, and those that all have."""
    yield from check.argument_problems(exercise, sizes, path)
    for index, name in enumerate(check.defaults):
        yield from unknown_name(AN_ARGUMENT, name, exercise.interface.constructor, (*path, "defaults", index))
    for index, name in enumerate(check.for_):
        yield from unknown_name("a defect", name, [defect.id for defect in exercise.defects], (*path, "for", index))


def unknown_name(what: str, name: str, known: Iterable[str], path: KeyPath) -> Iterator[Problem]:
    """A name that is not among those declared."""
    names = list(known)
    if name not in names:
        near = nearest(name, names) or (names[0] if len(names) == 1 else "")
        key = f"{path[-1]}: " if isinstance(path[-1], str) else ""
        remedy = f"write {key}{near}" if near else f"write one of them, or declare {name} too"
        yield Problem(path, f"{what}: {listed(names, 'or')}", quoted(name), remedy)


def made_inputs(inputs: Inputs, path: KeyPath) -> Iterator[Problem]:
    """Tensors where plain values are given as they stand."""
    for name, value in inputs.items():
        if isinstance(value, list | MadeInput):
            yield Problem((*path, name), "a plain value", "a tensor", "write a number or a truth value")


def output_problems(exercise: "Exercise", check: Check, output: int, path: KeyPath) -> Iterator[Problem]:
    """An output that the interface does not declare."""
    outputs = exercise.interface.outputs
    if outputs and not check.method and output >= len(outputs):
        what = f"an output from 0 to {len(outputs) - 1}" if len(outputs) > 1 else "0, the only output"
        yield Problem((*path, "output"), what, str(output), f"write output: {len(outputs) - 1}")
