"""Properties that tutorials test. Many wrong modules pass them; `missed_by` tells students which ones."""

from grader.checks.case import Case
from grader.checks.compare import compare, number, require_tensor
from grader.checks.context import Context, runs
from grader.checks.failure import Compared, Failure
from grader.checks.outcome import FailureKind
from grader.checks.proxies import ModuleProxy
from grader.sandbox.probes import training
from grader.spec.properties import LossFalls, Property, RepeatsWithASeed

STEPS = 20
"""Steps of gradient descent in which a loss must fall."""


@runs(LossFalls)
def try_loss_falls(check: LossFalls, context: Context, case: Case) -> None:
    losses = _module(check, context, case).run_probe(training.descend, case.inputs, steps=STEPS)
    require_tensor(losses, "losses")
    first, last = float(losses[0]), float(losses[-1])
    if not last < first:
        raise Failure(
            FailureKind.LOSS,
            action=f"{STEPS} steps of gradient descent",
            expected=f"a loss below {number(first)}",
            observed=number(last),
        )


@runs(RepeatsWithASeed)
def try_repeats_with_a_seed(check: RepeatsWithASeed, context: Context, case: Case) -> None:
    first, second = _module(check, context, case).run_probe(training.call_twice, case.inputs)
    compare(second, first, Compared(action="a second call after the same seed"))


def _module(check: Property, context: Context, case: Case) -> ModuleProxy:
    module = context.subject.build(case.arguments, at_once=False)
    module.training = check.training
    return module
