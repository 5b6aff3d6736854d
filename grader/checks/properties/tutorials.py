"""Properties as tutorials test them. They pass on much that is wrong: `missed_by` shows a student on what."""

from grader.checks.case import Case
from grader.checks.compare import Failure, compare, number, require_tensor
from grader.checks.context import Context, runs
from grader.checks.proxies import ModuleProxy
from grader.sandbox.probes import training
from grader.spec.properties import LossFalls, Property, RepeatsWithASeed

STEPS = 20
"""As many steps of gradient descent show whether a loss falls."""


@runs(LossFalls)
def try_loss_falls(check: LossFalls, context: Context, case: Case) -> None:
    losses = _module(check, context, case).run_probe(training.descend, case.inputs, steps=STEPS)
    require_tensor(losses, "losses")
    first, last = float(losses[0]), float(losses[-1])
    if not last < first:
        text = f"{STEPS} steps of gradient descent: expected a loss below {number(first)}, saw {number(last)}"
        raise Failure("loss", text)


@runs(RepeatsWithASeed)
def try_repeats_with_a_seed(check: RepeatsWithASeed, context: Context, case: Case) -> None:
    first, second = _module(check, context, case).run_probe(training.call_twice, case.inputs)
    compare(second, first, "a second call after the same seed: output")


def _module(check: Property, context: Context, case: Case) -> ModuleProxy:
    module = context.subject.build(case.arguments, at_once=False)
    module.training = check.training
    return module
