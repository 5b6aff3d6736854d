"""The built-in properties: what one is, what it works with, and all there are, one module a family.

A property's record, function, needs and documentation stand together. The modules are found by looking into this
folder, so a new property is listed nowhere else. They import torch only inside functions: reading a description,
and the list of exercises, need the records alone.
"""

import pkgutil
import typing
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from grader.spec.checks import Check, Shape
from grader.spec.problem import KeyPath, Problem

if TYPE_CHECKING:
    from grader.checks.case import Case
    from grader.checks.proxies import ModuleFactory, ModuleProxy
    from grader.checks.reference_cache import ReferenceCache
    from grader.spec.exercise import Exercise


class Context:
    """What a property works with: two module factories and the exercise. `read_printed` gives what came to stdout.

    `are_calling_variants_tried` tells whether the module is still called in calling variants: it is not once it did
    not answer in one. `last_returned` gives what the submission's last call returned.
    """

    def __init__(
        self,
        subject: "ModuleFactory",
        reference: "ReferenceCache",
        exercise: "Exercise",
        read_printed: Callable[[], bytes] = bytes,
        are_calling_variants_tried: Callable[[], bool] = lambda: True,
        last_returned: Callable[[], Any] = lambda: None,
    ) -> None:
        self.subject = subject
        self.reference = reference
        self.exercise = exercise
        self.read_printed = read_printed
        self.are_calling_variants_tried = are_calling_variants_tried
        self.last_returned = last_returned

    def pair(
        self, check: Check, case: "Case", dtype: str = "", variation: str = ""
    ) -> "tuple[ModuleProxy, ModuleProxy]":
        """Subject and reference with the same weights; `variation` is source that defines a `Variation` of both."""
        built: dict[str, Any] = {"dtype": dtype, "probe": variation, "entry": "Variation" if variation else ""}
        theirs = self.reference.build(case.arguments, **built)
        ours = self.subject.build(case.arguments, like=theirs, at_once=False, **built)
        ours.training = theirs.training = check.training
        ours.grad = case.grad
        return ours, theirs

    def ours(self, check: Check, case: "Case") -> "ModuleProxy":
        """The subject alone, with weights of its own making."""
        module = self.subject.build(case.arguments, at_once=False)
        module.training, module.grad = check.training, case.grad
        return module


class Property(Check, frozen=True):
    """A property that YAML can name by its `tag`. Its docstring is its line of documentation."""

    needs_reference: ClassVar[bool] = True
    """Whether it compares with the reference, which a student edition does not have."""
    shows_values: ClassVar[bool] = True
    """Whether passing shows that something is computed right: what lacks this shows no defect mended by itself."""
    needs_module: ClassVar[bool] = False
    """Whether it looks at what only a module has: parameters, attributes, devices, training mode."""
    is_slow: ClassVar[bool] = False
    """Whether most of its time is the kit's own, so that it may take the most that any check may."""
    walks_all_size_cases: ClassVar[bool] = False
    """Whether, in its plainest form, it is tried at every size case of the exercise's sizes, not only at both ends."""

    draws_sizes: ClassVar[bool] = False
    """Whether it is tried at sizes drawn anew in each run too, and in calling variants drawn for the uppermost size
    cases.
    """

    draws_equal_sizes: ClassVar[bool] = False
    """Whether it is tried where most of the drawn sizes are equal too: there, axes are easily taken for each other."""

    draws_longest: ClassVar[bool] = False
    """Whether it is tried at the longest of the drawn inputs too, beyond any constant that somebody would write."""

    def try_case(self, context: Context, case: "Case") -> None:
        """Raise `Failure` where the property does not hold with this case's sizes and inputs."""
        raise NotImplementedError(type(self).__name__)

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        """What is wrong with its own arguments; `sizes` are the names that its sizes gives."""
        yield from ()

    def shapes_needed(self, exercise: "Exercise") -> list[Shape]:
        """Shapes of the interface, beside those of its inputs, whose sizes its sizes has to give."""
        return []

    def compares_values(self) -> bool:
        """Whether passing takes the reference's values."""
        return self.needs_reference and self.shows_values

    def tells_of_values(self) -> bool:
        """Whether passing shows that something is computed: not by a property alone, nor at sizes of one."""
        is_tiny = bool(self.sizes) and all(1 in sizes.values() for sizes in self.sizes)
        return self.shows_values and not is_tiny

    def is_plain(self) -> bool:
        """Whether it is tried as the interface says, with nothing added or replaced."""
        return not (self.constructor or self.inputs or self.method)

    def sizes_of_calls(self, sizes: dict[str, int]) -> dict[str, int]:
        """Those of a size case's sizes that what it calls is called with, so that findings may tell them."""
        return {name: size for name, size in sizes.items() if name not in self.constructor}


def _defined_in(module: str) -> list[type[Property]]:
    """The properties that a module of this folder defines, in its order."""
    values = vars(import_module(f"{__name__}.{module}")).values()
    return [
        each
        for each in values
        if isinstance(each, type) and issubclass(each, Property) and each.__module__ == f"{__name__}.{module}"
    ]


PROPERTIES: dict[str, type[Property]] = {
    str(record.__struct_config__.tag): record
    for module in sorted(found.name for found in pkgutil.iter_modules(__path__))
    for record in _defined_in(module)
}
"""Each property's record by the name that YAML gives it."""

if TYPE_CHECKING:
    AnyProperty = Property
else:
    AnyProperty = typing.Union[tuple(PROPERTIES.values())]  # noqa: UP007 - of as many as there are
