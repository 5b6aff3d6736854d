"""Properties as tutorials test them. They pass on much that is wrong: `missed_by` shows a student on what."""

from typing import TYPE_CHECKING, ClassVar

from grader.checks.compare import Failure, compare, number, require_tensor
from grader.checks.properties import Context, Property

if TYPE_CHECKING:
    from grader.checks.case import Case
    from grader.checks.proxies import ModuleProxy

STEPS = 20
"""As many steps of gradient descent show whether a loss falls."""


class LossFalls(Property, frozen=True, tag="loss_falls"):
    """Twenty short steps of gradient descent on one batch make a loss smaller."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False
    needs_module: ClassVar[bool] = True

    def try_case(self, context: Context, case: "Case") -> None:
        from grader.sandbox.probes import training

        losses = _module(self, context, case).run_probe(training.descend, case.inputs, steps=STEPS)
        require_tensor(losses, "losses")
        first, last = float(losses[0]), float(losses[-1])
        if not last < first:
            text = f"{STEPS} steps of gradient descent: expected a loss below {number(first)}, saw {number(last)}"
            raise Failure("loss", text)


class RepeatsWithASeed(Property, frozen=True, tag="repeats_with_a_seed"):
    """After `torch.manual_seed` with the same number, two calls give the same."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False
    needs_module: ClassVar[bool] = True

    def try_case(self, context: Context, case: "Case") -> None:
        from grader.sandbox.probes import training

        first, second = _module(self, context, case).run_probe(training.call_twice, case.inputs)
        compare(second, first, "a second call after the same seed: output")


def _module(check: Property, context: Context, case: "Case") -> "ModuleProxy":
    module = context.subject.build(case.arguments, at_once=False)
    module.training = check.training
    return module
