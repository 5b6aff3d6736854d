"""The property `raises`: invalid arguments raise the right exception every time, in every calling variant."""

import contextlib
import re
import warnings

from grader.checks.calling_variant_calls import call_in_calling_variants
from grader.checks.calling_variant_choice import fitting
from grader.checks.case import Case, make_case
from grader.checks.context import Context, runs
from grader.checks.failure import Advice, Failure
from grader.checks.outcome import FailureKind
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError
from grader.checks.size_cases import SizeCase
from grader.sandbox.calling_variants import CallingVariant, Dtype, GradientMode, MemoryLayout, Mode, VariantCall
from grader.sandbox.text import as_arguments, excerpt
from grader.spec.fields import size_of
from grader.spec.properties import Property, Raises

CALLING_VARIANTS = (
    CallingVariant(gradients=GradientMode.NO_GRAD),
    CallingVariant(
        mode=Mode.TRAINING,
        gradients=GradientMode.INFERENCE_MODE,
        dtype=Dtype.FLOAT64,
        layout=MemoryLayout.TRANSPOSED,
    ),
)
"""Calling variants in which an invalid call is repeated. The second one combines several changes."""

NUMBER = re.compile(r"(?<![\d.])\d+(?!\.?\d)")
SEPARATOR = re.compile(r"(?<=\d)[,_](?=\d{3}\b)")
"""A separator of thousands, as in 1,025. It may also separate two numbers."""

MAX_OTHER_NUMBERS = 4
"""A message may mention this many numbers beside the required ones."""


@runs(Raises)
def try_raises(check: Raises, context: Context, case: Case) -> None:
    named = [name for name in check.mentions if isinstance(name, str)] or list(case.sizes)
    sizes = {name: case.sizes[name] for name in named}
    try:
        module = context.subject.build(case.arguments, at_once=check.at != "call")
        if check.at == "call":
            module.call(check.method, **case.inputs)
    except SubjectRaisedError as error:
        _require_right(check, error, case, sizes)
        missing, raised = _missing(check, error, case), error.raised
    else:
        raise _not_refused(check, sizes)
    if check.at == "call":
        _require_refused_again(check, module, case, sizes)
    if missing:
        text = f"the message should also contain {' and '.join(missing)}; it is {excerpt(raised.text)!r}"
        warnings.warn(Advice(f"with {as_arguments(sizes)}: {raised.type} is right; {text}"), stacklevel=1)
    if context.is_last(check, case):
        _require_accepted(check, context)
        if check.at == "call" and not check.method:
            _require_in_calling_variants(check, context, case, sizes)


def _require_refused_again(check: Raises, module: ModuleProxy, case: Case, sizes: dict[str, int]) -> None:
    """Raise `Failure` if the module accepts the call when it is repeated, since the first one may have changed it."""
    once_more = CallingVariant()
    try:
        module.call(check.method, **case.inputs)
    except SubjectRaisedError as error:
        _require_right(check, error, case, sizes, once_more)
    else:
        raise _not_refused(check, sizes, once_more)


def _not_refused(check: Raises, sizes: dict[str, int], calling_variant: CallingVariant | None = None) -> Failure:
    return Failure(
        FailureKind.NOT_REFUSED,
        calling_variant=calling_variant,
        named_sizes=sizes,
        expected=" or ".join(check.errors),
        observed="no exception",
    )


def _require_right(
    check: Raises,
    error: SubjectRaisedError,
    case: Case,
    sizes: dict[str, int],
    calling_variant: CallingVariant | None = None,
) -> None:
    """Raise `Failure` if the exception has the wrong type, or its message lacks required numbers."""
    raised = error.raised
    if not set(check.errors) & set(raised.bases):
        raise Failure(
            f"{FailureKind.REFUSED_BY}-{raised.type}",
            calling_variant=calling_variant,
            named_sizes=sizes,
            expected=" or ".join(check.errors),
            observed=str(error),
        )
    missing = _missing(check, error, case)
    if missing and check.must_mention:
        raise Failure(
            FailureKind.UNCLEAR_REFUSAL,
            calling_variant=calling_variant,
            named_sizes=sizes,
            expected=f"a message that says {' and '.join(missing)}",
            observed=f"{excerpt(raised.text)!r}",
        )


def _missing(check: Raises, error: SubjectRaisedError, case: Case) -> list[str]:
    """Return the required numbers that the message does not mention."""
    return _not_mentioned([size_of(name, case.sizes) for name in check.mentions], error.raised.text)


def _require_accepted(check: Raises, context: Context) -> None:
    """Raise `Failure` if the interface's own sizes are refused too, because then the module validates nothing."""
    usual = usual_case(context)
    try:
        module = context.subject.build(usual.arguments, at_once=check.at != "call" or bool(check.method))
        if check.at == "call" and not check.method:
            module.call("", **usual.inputs)
    except SubjectRaisedError as error:
        if set(check.errors) & set(error.raised.bases):
            raise Failure(
                FailureKind.REFUSES_ALL,
                action=f"with {as_arguments(usual.sizes)}, which fit",
                expected=f"no {error.raised.type}",
                observed="one",
            ) from None


def _require_in_calling_variants(check: Raises, context: Context, case: Case, sizes: dict[str, int]) -> None:
    """Raise `Failure` if a calling variant that accepts the usual sizes does not refuse the invalid ones."""
    interface = context.exercise.interface
    for each in CALLING_VARIANTS if interface.kind.has_calling_variants else ():
        calling_variant = fitting(each, of_function=bool(interface.function))
        try:
            _called(context, case, calling_variant)
        except SubjectRaisedError as error:
            try:
                _require_right(check, error, case, sizes, calling_variant)
            except Failure:
                with contextlib.suppress(SubjectRaisedError):
                    _called(context, usual_case(context), calling_variant)
                    raise
        else:
            raise _not_refused(check, sizes, calling_variant)


def usual_case(context: Context) -> Case:
    """Return the case of the exercise's largest fixed sizes, with the interface's own inputs."""
    return make_case(context.exercise, Property(), SizeCase(sizes=context.exercise.fixed_sizes[-1]))


def _called(context: Context, case: Case, calling_variant: CallingVariant) -> None:
    """Build a module and call it in a calling variant."""
    module = context.subject.build(case.arguments, at_once=False)
    _ = [*call_in_calling_variants([VariantCall(variant=calling_variant)], case, "", module)]


def _not_mentioned(wanted: list[int], text: str) -> list[str]:
    """Return the numbers that a message does not mention; a message that lists many numbers mentions none."""
    mentioned = {number for each in (text, SEPARATOR.sub("", text)) for number in NUMBER.findall(each)}
    is_a_list = len(mentioned) > len(wanted) + MAX_OTHER_NUMBERS
    return [str(number) for number in wanted if is_a_list or str(number) not in mentioned]
