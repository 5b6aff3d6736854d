"""The context in which a property's function runs, and the registry of these functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from grader.checks.case import Case
from grader.checks.proxies import ModuleProxy, SubjectFactory
from grader.checks.reference_cache import ReferenceCache
from grader.spec.exercise import Exercise
from grader.spec.properties import Property

P = TypeVar("P", bound=Property)


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a property works with: two module factories and the exercise."""

    subject: SubjectFactory
    reference: ReferenceCache
    exercise: Exercise

    def build_both(
        self, check: Property, case: Case, dtype: str = "", variation: str = ""
    ) -> tuple[ModuleProxy, ModuleProxy]:
        """Build the subject and the reference with the same weights; a `variation` is built in place of both."""
        built: dict[str, Any] = {"dtype": dtype, "variation": variation}
        theirs = self.reference.build(case.arguments, **built)
        ours = self.subject.build(case.arguments, like=theirs, at_once=False, **built)
        ours.training = theirs.training = check.training
        ours.grad = case.size_case.grad
        return ours, theirs

    def is_first(self, check: Property, case: Case) -> bool:
        """Return whether the case has the first of the check's fixed sizes."""
        return case.sizes == self.exercise.fixed_sizes_of(check)[0]

    def is_last(self, check: Property, case: Case) -> bool:
        """Return whether the case has the last of the check's fixed sizes."""
        return case.sizes == self.exercise.fixed_sizes_of(check)[-1]

    def build_subject(self, check: Property, case: Case) -> ModuleProxy:
        """Build only the subject, with its own initial weights."""
        module = self.subject.build(case.arguments, at_once=False)
        module.training, module.grad = check.training, case.size_case.grad
        return module


FUNCTIONS: dict[type[Property], Callable[[Any, Context, Case], None]] = {}
"""The function of each property, by the type of its record."""


def runs(record: type[P]) -> Callable[[Callable[[P, Context, Case], None]], Callable[[P, Context, Case], None]]:
    """Register a function for a record. It raises `Failure` if the property does not hold for a case."""

    def register(function: Callable[[P, Context, Case], None]) -> Callable[[P, Context, Case], None]:
        FUNCTIONS[record] = function
        return function

    return register
