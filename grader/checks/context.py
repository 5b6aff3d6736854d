"""The context in which a property's function runs, and the registry of these functions."""

from collections.abc import Callable
from typing import Any, TypeVar

from grader.checks.case import Case
from grader.checks.proxies import ModuleProxy, Subject
from grader.checks.reference_cache import ReferenceCache
from grader.checks.tape import Step, Tape
from grader.spec.exercise import Exercise
from grader.spec.properties import Property

P = TypeVar("P", bound=Property)


class Context:
    """What a property works with: two module factories and the exercise.

    `read_printed` returns the new output on stdout. `are_calling_variants_tried` returns whether checks still call the
    module in calling variants: they stop after a variant in which it did not answer. `last_returned` returns the value
    of the submission's last call. `tape` records the requests of a size case.
    """

    def __init__(
        self,
        *,
        subject: Subject,
        reference: ReferenceCache,
        exercise: Exercise,
        read_printed: Callable[[], bytes] = bytes,
        are_calling_variants_tried: Callable[[], bool] = lambda: True,
        last_returned: Callable[[], Any] = lambda: None,
        tape: Tape | None = None,
    ) -> None:
        self.subject = subject
        self.reference = reference
        self.exercise = exercise
        self.read_printed = read_printed
        self.are_calling_variants_tried = are_calling_variants_tried
        self.last_returned = last_returned
        self._tape = tape

    def begin_size_case(self) -> None:
        """Drop what the tape recorded at smaller sizes."""
        if self._tape is not None:
            self._tape.steps = []

    def recorded_steps(self) -> list[Step]:
        """Return the requests of this size case if they are recorded."""
        return [] if self._tape is None else self._tape.steps

    def pair(
        self, check: Property, case: Case, dtype: str = "", variation: str = ""
    ) -> tuple[ModuleProxy, ModuleProxy]:
        """Build the subject and the reference with the same weights; a `variation` is built in place of both."""
        built: dict[str, Any] = {"dtype": dtype, "variation": variation}
        theirs = self.reference.build(case.arguments, **built)
        ours = self.subject.build(case.arguments, like=theirs, at_once=False, **built)
        ours.training = theirs.training = check.training
        ours.grad = case.grad
        return ours, theirs

    def ours(self, check: Property, case: Case) -> ModuleProxy:
        """Build only the subject, with its own initial weights."""
        module = self.subject.build(case.arguments, at_once=False)
        module.training, module.grad = check.training, case.grad
        return module


FUNCTIONS: dict[type[Property], Callable[[Any, Context, Case], None]] = {}
"""The function of each property, by the type of its record."""


def runs(record: type[P]) -> Callable[[Callable[[P, Context, Case], None]], Callable[[P, Context, Case], None]]:
    """Register a function for a record. It raises `Failure` if the property does not hold for a case."""

    def register(function: Callable[[P, Context, Case], None]) -> Callable[[P, Context, Case], None]:
        FUNCTIONS[record] = function
        return function

    return register
