"""The property of what cannot work: it is refused, with the right exception, however it is called."""

import contextlib
import re
import warnings

from msgspec import structs

from grader.checks.calling_variants import CallingVariant
from grader.checks.case import Case, make_case
from grader.checks.compare import Advice, Failure
from grader.checks.context import Context, runs
from grader.checks.session import SubjectRaisedError
from grader.checks.variant_calls import call_in_calling_variant
from grader.sandbox.text import as_arguments, excerpt
from grader.spec.fields import size_of
from grader.spec.properties import Property, Raises

CALLING_VARIANTS = (
    CallingVariant(("no_grad",)),
    CallingVariant(("training", "inference_mode", "transposed", "double")),
)
"""How a call that cannot work is made once more: the second time in all these ways at once."""

MOST_OTHER_NUMBERS = 4
"""A message may say so many numbers beside the ones it should."""


@runs(Raises)
def try_raises(check: Raises, context: Context, case: Case) -> None:
    named = [name for name in check.mentions if isinstance(name, str)] or list(case.sizes)
    sizes = f"with {as_arguments({name: case.sizes[name] for name in named})}"
    try:
        module = context.subject.build(case.arguments, at_once=check.at != "call")
        if check.at == "call":
            module.call(check.method, **case.inputs)
    except SubjectRaisedError as error:
        _require_right(check, error, case, sizes)
        missing, raised = _missing(check, error, case), error.raised
    else:
        raise _not_refused(check, sizes)
    if missing:
        told = f"a message that says {' and '.join(missing)} would help, this one is {excerpt(raised.text)!r}"
        warnings.warn(Advice(f"{sizes}: {raised.type} is right; {told}"), stacklevel=1)
    if case.sizes == (check.sizes or context.exercise.fixed_sizes)[-1]:
        _require_accepted(check, context)
        if check.at == "call" and not check.method:
            _require_in_calling_variants(check, context, case, sizes)


def _not_refused(check: Raises, told: str) -> Failure:
    return Failure("not-refused", f"{told}: expected {' or '.join(check.errors)}, saw no exception")


def _require_right(check: Raises, error: SubjectRaisedError, case: Case, told: str) -> None:
    """Raise `Failure` where another exception was raised than will do, or says less than promised."""
    raised = error.raised
    if not set(check.errors) & set(raised.bases):
        raise Failure(f"refused-by-{raised.type}", f"{told}: expected {' or '.join(check.errors)}, saw {error}")
    missing = _missing(check, error, case)
    if missing and check.must_mention:
        told = f"{told}: expected a message that says {' and '.join(missing)}"
        raise Failure("unclear-refusal", f"{told}, saw {excerpt(raised.text)!r}")


def _missing(check: Raises, error: SubjectRaisedError, case: Case) -> list[str]:
    """The numbers that the message should say and does not."""
    return _not_mentioned([size_of(name, case.sizes) for name in check.mentions], error.raised.text)


def _require_accepted(check: Raises, context: Context) -> None:
    """Raise `Failure` where the interface's own sizes are refused too: whoever refuses all checks nothing."""
    usual = usual_case(context)
    try:
        module = context.subject.build(usual.arguments, at_once=check.at != "call" or bool(check.method))
        if check.at == "call" and not check.method:
            module.call("", **usual.inputs)
    except SubjectRaisedError as error:
        if set(check.errors) & set(error.raised.bases):
            told = f"with {as_arguments(usual.sizes)}, which fit: expected no {error.raised.type}, saw one"
            raise Failure("refuses-all", told) from None


def _require_in_calling_variants(check: Raises, context: Context, case: Case, sizes: str) -> None:
    """Raise `Failure` where what is refused is not in another calling variant, in which the usual sizes are
    accepted.
    """
    for calling_variant in CALLING_VARIANTS if context.exercise.interface.kind.has_calling_variants else ():
        told = f"{calling_variant.described()}, {sizes}"
        try:
            _called(context, case, calling_variant)
        except SubjectRaisedError as error:
            try:
                _require_right(check, error, case, told)
            except Failure:
                with contextlib.suppress(SubjectRaisedError):
                    _called(context, usual_case(context), calling_variant)
                    raise
        else:
            raise _not_refused(check, told)


def usual_case(context: Context) -> Case:
    """The uppermost of the exercise's own sizes, with the interface's own inputs."""
    return make_case(context.exercise, Property(), context.exercise.fixed_sizes[-1])


def _called(context: Context, case: Case, calling_variant: CallingVariant) -> None:
    """Build a module and call it in a calling variant; with `training` it is in training mode."""
    module = context.subject.build(case.arguments, at_once=False)
    module.training = "training" in calling_variant.words
    call_in_calling_variant(calling_variant, structs.replace(case, again=case.inputs), "", module, context.exercise)


def _not_mentioned(wanted: list[int], text: str) -> list[str]:
    """The numbers that a message does not say, as whole numbers; one that lists many numbers says none of them."""
    said = re.findall(r"(?<![\d.])\d+(?!\.?\d)", text)
    is_a_list = len(set(said)) > len(wanted) + MOST_OTHER_NUMBERS
    return [str(number) for number in wanted if is_a_list or str(number) not in said]
