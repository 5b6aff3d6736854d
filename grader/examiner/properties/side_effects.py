"""Properties of how a module behaves among others: refusals, prints, inputs, attributes."""

from grader.course import checks as c
from grader.examiner.case import Case, make_case, size_of
from grader.examiner.compare import Failure, describe
from grader.examiner.context import Context, require_inputs_kept, try_rung
from grader.examiner.session import SubjectRaisedError


@try_rung.register
def _(check: c.Raises, context: Context, case: Case) -> None:
    named = [name for name in check.mentions if isinstance(name, str)] or list(case.sizes)
    sizes = ", ".join(f"{name}={case.sizes[name]}" for name in named)
    try:
        module = context.subject.build(case.arguments, at_once=check.at != "call")
        if check.at == "call":
            module.call(check.method, **case.inputs)
    except SubjectRaisedError as error:
        raised = error.raised
    else:
        raise Failure("not-refused", f"with {sizes}: expected {' or '.join(check.errors)}, saw no exception")
    if not set(check.errors) & set(raised.bases):
        saw = f"{raised.type}: {raised.text[:120]}" if raised.text else raised.type
        raise Failure(f"refused-by-{raised.type}", f"with {sizes}: expected {' or '.join(check.errors)}, saw {saw}")
    missing = [str(size_of(name, case.sizes)) for name in check.mentions]
    missing = [digits for digits in missing if digits not in raised.text]
    if missing:
        raise Failure(
            "unclear-refusal",
            f"with {sizes}: expected a message that says {' and '.join(missing)}, saw {raised.text[:120]!r}",
        )
    if case.sizes == (check.ladder or context.exercise.ladder)[-1]:
        _require_accepted(check, context)


@try_rung.register
def _(check: c.LeavesInputsAlone, context: Context, case: Case) -> None:
    module = context.ours(check, case)
    module.call(check.method, **case.inputs)
    require_inputs_kept(module, case)


@try_rung.register
def _(check: c.PrintsNothing, context: Context, case: Case) -> None:
    module = context.ours(check, case)
    _require_silence(module.printed() if check.building else "", "building it")
    module.printed()
    module.call(check.method, **case.inputs)
    _require_silence(module.printed(), "a call")


@try_rung.register
def _(check: c.Prints, context: Context, case: Case) -> None:
    module = context.ours(check, case)
    module.printed()
    module.call(check.method, **case.inputs)
    if not module.printed().strip():
        asked = ", ".join(
            f"{name}={value}"
            for name, value in {**check.constructor, **check.inputs}.items()
            if isinstance(value, bool)
        )
        raise Failure("silent", f"a call with {asked}: expected it to print, saw nothing on stdout")


@try_rung.register
def _(check: c.AttributeEquals, context: Context, case: Case) -> None:
    expected = case.sizes.get(check.equals, check.equals) if isinstance(check.equals, str) else check.equals
    try:
        seen = context.ours(check, case).attribute(check.name)
    except SubjectRaisedError as error:
        if error.raised.type != "AttributeError":
            raise
        raise Failure("attribute", f"the attribute {check.name}: expected {expected}, saw that there is none") from None
    if type(seen) is not type(expected) or seen != expected:
        raise Failure("attribute", f"the attribute {check.name}: expected {expected}, saw {describe(seen)}")


def _require_silence(printed: str, what: str) -> None:
    if printed:
        first = printed.strip().splitlines()[0][:60] if printed.strip() else printed[:20]
        raise Failure(
            "prints", f"{what}: expected nothing on stdout, saw {len(printed.splitlines())} lines, the first {first!r}"
        )


def _require_accepted(check: c.Raises, context: Context) -> None:
    """Raise `Failure` where the interface's own sizes are refused too: whoever refuses everything checks nothing."""
    usual = make_case(context.exercise, c.Check(), context.exercise.ladder[-1])
    try:
        module = context.subject.build(usual.arguments, at_once=check.at != "call" or bool(check.method))
        if check.at == "call" and not check.method:
            module.call("", **usual.inputs)
    except SubjectRaisedError as error:
        if set(check.errors) & set(error.raised.bases):
            sizes = ", ".join(f"{name}={size}" for name, size in usual.sizes.items())
            raise Failure("refuses-all", f"with {sizes}, which fit: expected no {error.raised.type}, saw one") from None
