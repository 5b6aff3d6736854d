"""Properties of what may influence what: later tokens, masked tokens, other samples."""

import torch

from grader.course import checks as c
from grader.examiner.case import Case, dead_row
from grader.examiner.compare import UNCHANGED, require_close, require_finite, require_shape
from grader.examiner.context import Context, nth_output, require_changed, require_unchanged, try_rung, with_change
from grader.examiner.proxies import flatten


@try_rung.register
def _(check: c.FutureDoesNotLeak, context: Context, case: Case) -> None:
    tokens = case.inputs[check.input].size(check.axis)
    if tokens == 1:
        return
    module = context.ours(check, case)
    before = nth_output(module(**case.inputs), check.output)
    for token in sorted({1, tokens - 1}):
        after = nth_output(module(**with_change(case, check.input, check.axis, token)), check.output)
        require_unchanged(before, after, check.axis, list(range(token)), f"changing token {token}", "leak")
        require_changed(before, after, check.axis, tokens - 1, f"changing token {token}")


@try_rung.register
def _(check: c.MaskHides, context: Context, case: Case) -> None:
    spec = check.inputs[check.mask]
    assert isinstance(spec, c.MaskInput)
    pairs = case.inputs[check.mask].movedim(spec.axes, (-2, -1))
    hidden = [key for key in range(pairs.size(-1)) if not bool(pairs[..., key].any())]
    if not hidden:
        return
    module = context.ours(check, case)
    before = nth_output(module(**case.inputs), check.output)
    after = nth_output(module(**with_change(case, check.input, check.axis, hidden[0])), check.output)
    is_self_attention = len(case.tensors()) == 1
    others = [token for token in range(before.size(check.axis)) if not (is_self_attention and token == hidden[0])]
    require_unchanged(before, after, check.axis, others, f"changing token {hidden[0]}, which the mask hides,", "leak")


@try_rung.register
def _(check: c.MaskedRowsStayFinite, context: Context, case: Case) -> None:
    ours, theirs = context.pair(check, case)
    expected, *rest = flatten(theirs.call(check.method, **case.inputs))
    row = dead_row(expected.size(check.axis))
    cotangent = torch.randn(expected.shape)
    cotangent.select(check.axis, row).zero_()
    skipped = [torch.zeros_like(each) for each in rest if each.is_floating_point()]
    passed = ours.differentiate([cotangent, *skipped], check.method, **case.inputs)
    what = f"query {row} may look at no key; output"
    seen = nth_output(passed.value, 0)
    require_shape(seen, list(expected.shape), what)
    require_finite(seen, what)
    ours_there, theirs_there = (each.select(check.axis, row) for each in (seen, expected))
    require_close(ours_there, theirs_there, f"{what} at that query", UNCHANGED)
    for name, gradient in {**passed.parameters, **passed.inputs}.items():
        if gradient is not None:
            require_finite(gradient, f"query {row} may look at no key and the loss skips it; the gradient of {name}")


@try_rung.register
def _(check: c.SamplesDoNotMix, context: Context, case: Case) -> None:
    samples = case.inputs[check.input].size(check.axis)
    if samples == 1:
        return
    module = context.ours(check, case)
    before = nth_output(module(**case.inputs), check.output)
    after = nth_output(module(**with_change(case, check.input, check.axis, samples - 1)), check.output)
    others = list(range(samples - 1))
    require_unchanged(before, after, check.axis, others, f"changing sample {samples - 1}", "mixing", "sample")
