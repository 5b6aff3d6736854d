"""The property of what cannot work: it is refused, with the right exception, however it is called."""

import builtins
import contextlib
import re
import typing
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from msgspec import structs

from grader.checks.calling_variants import CallingVariant, call_in_calling_variant
from grader.checks.case import make_case, size_of
from grader.checks.compare import Advice, Failure
from grader.checks.properties import Context, Property
from grader.sandbox.text import as_arguments, excerpt
from grader.spec.checks import Check, Name, unknown_sizes
from grader.spec.problem import KeyPath, Problem, nearest, quoted

if TYPE_CHECKING:
    from grader.checks.case import Case
    from grader.checks.session import SubjectRaisedError
    from grader.spec.exercise import Exercise

CALLING_VARIANTS = (
    CallingVariant(("no_grad",)),
    CallingVariant(("training", "inference_mode", "transposed", "double")),
)
"""How a call that cannot work is made once more: the second time in all these ways at once."""

MOST_OTHER_NUMBERS = 4
"""A message may say so many numbers beside the ones it should."""

EXCEPTIONS = [
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
]


class Raises(Property, frozen=True, tag="raises"):
    """What cannot work is refused with the right exception; its message has to name the numbers where promised."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    at: typing.Literal["call", "constructor"] = "call"
    """When it is refused."""
    errors: tuple[Name, ...] = ("ValueError",)
    """The exceptions that will do, and those derived from them."""
    mentions: tuple[Name | int, ...] = ()
    """The sizes and numbers that the message should say."""
    must_mention: bool = False
    """Whether it has to say them, where a promise is that it does."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from unknown_sizes(self.mentions, sizes, (*path, "mentions"))
        yield from _exception_problems(self.errors, path)

    def try_case(self, context: Context, case: "Case") -> None:
        from grader.checks.session import SubjectRaisedError

        named = [name for name in self.mentions if isinstance(name, str)] or list(case.sizes)
        sizes = f"with {as_arguments({name: case.sizes[name] for name in named})}"
        try:
            module = context.subject.build(case.arguments, at_once=self.at != "call")
            if self.at == "call":
                module.call(self.method, **case.inputs)
        except SubjectRaisedError as error:
            self._require_right(error, case, sizes)
            missing, raised = self._missing(error, case), error.raised
        else:
            raise self._not_refused(sizes)
        if missing:
            told = f"a message that says {' and '.join(missing)} would help, this one is {excerpt(raised.text)!r}"
            warnings.warn(Advice(f"{sizes}: {raised.type} is right; {told}"), stacklevel=1)
        if case.sizes == (self.sizes or context.exercise.fixed_sizes)[-1]:
            self._require_accepted(context)
            if self.at == "call" and not self.method:
                self._require_in_calling_variants(context, case, sizes)

    def _not_refused(self, told: str) -> Failure:
        return Failure("not-refused", f"{told}: expected {' or '.join(self.errors)}, saw no exception")

    def _require_right(self, error: "SubjectRaisedError", case: "Case", told: str) -> None:
        """Raise `Failure` where another exception was raised than will do, or says less than promised."""
        raised = error.raised
        if not set(self.errors) & set(raised.bases):
            raise Failure(f"refused-by-{raised.type}", f"{told}: expected {' or '.join(self.errors)}, saw {error}")
        missing = self._missing(error, case)
        if missing and self.must_mention:
            told = f"{told}: expected a message that says {' and '.join(missing)}"
            raise Failure("unclear-refusal", f"{told}, saw {excerpt(raised.text)!r}")

    def _missing(self, error: "SubjectRaisedError", case: "Case") -> list[str]:
        """The numbers that the message should say and does not."""
        return _not_mentioned([size_of(name, case.sizes) for name in self.mentions], error.raised.text)

    def _require_accepted(self, context: Context) -> None:
        """Raise `Failure` where the interface's own sizes are refused too: whoever refuses all checks nothing."""
        from grader.checks.session import SubjectRaisedError

        usual = usual_case(context)
        try:
            module = context.subject.build(usual.arguments, at_once=self.at != "call" or bool(self.method))
            if self.at == "call" and not self.method:
                module.call("", **usual.inputs)
        except SubjectRaisedError as error:
            if set(self.errors) & set(error.raised.bases):
                told = f"with {as_arguments(usual.sizes)}, which fit: expected no {error.raised.type}, saw one"
                raise Failure("refuses-all", told) from None

    def _require_in_calling_variants(self, context: Context, case: "Case", sizes: str) -> None:
        """Raise `Failure` where what is refused is not in another calling variant, in which the usual sizes are
        accepted.
        """
        from grader.checks.session import SubjectRaisedError

        for calling_variant in CALLING_VARIANTS if context.exercise.interface.kind.has_calling_variants else ():
            told = f"{calling_variant.described()}, {sizes}"
            try:
                _called(context, case, calling_variant)
            except SubjectRaisedError as error:
                try:
                    self._require_right(error, case, told)
                except Failure:
                    with contextlib.suppress(SubjectRaisedError):
                        _called(context, usual_case(context), calling_variant)
                        raise
            else:
                raise self._not_refused(told)


def usual_case(context: Context) -> "Case":
    """The uppermost of the exercise's own sizes, with the interface's own inputs."""
    return make_case(context.exercise, Check(), context.exercise.fixed_sizes[-1])


def _called(context: Context, case: "Case", calling_variant: CallingVariant) -> None:
    """Build a module and call it in a calling variant; with `training` it is in training mode."""
    module = context.subject.build(case.arguments, at_once=False)
    module.training = "training" in calling_variant.words
    call_in_calling_variant(calling_variant, structs.replace(case, again=case.inputs), "", module, context.exercise)


def _exception_problems(errors: tuple[str, ...], path: KeyPath) -> Iterator[Problem]:
    """Misspelt exceptions; a name unlike any of Python's may be one that the submission defines."""
    if not errors:
        yield Problem((*path, "errors"), "at least one exception", "none", "write errors: [ValueError]")
    for index, name in enumerate(errors):
        near = nearest(name, EXCEPTIONS)
        if near and name not in EXCEPTIONS:
            yield Problem((*path, "errors", index), "an exception", quoted(name), f"write {near}")


def _not_mentioned(wanted: list[int], text: str) -> list[str]:
    """The numbers that a message does not say, as whole numbers; one that lists many numbers says none of them."""
    said = re.findall(r"(?<![\d.])\d+(?!\.?\d)", text)
    is_a_list = len(set(said)) > len(wanted) + MOST_OTHER_NUMBERS
    return [str(number) for number in wanted if is_a_list or str(number) not in said]
