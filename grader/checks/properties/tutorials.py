"""Properties as tutorials test them. They pass on much that is wrong: `missed_by` shows a student on what."""

from grader.checks.case import Case
from grader.checks.compare import Failure, compare, number, require_tensor
from grader.checks.context import Context, runs
from grader.checks.proxies import ModuleProxy
from grader.spec.properties import LossFalls, Property, RepeatsWithASeed

STEPS = 20
"""As many steps of gradient descent show whether a loss falls."""

PROBE = """
class Variation(submission.{entry}):
    def descended(self, **inputs):
        parameters = [each for each in self.parameters() if each.requires_grad]
        losses = []
        with torch.enable_grad():
            for _ in range({steps} + 1):
                values = self(**inputs)
                first = values[0] if isinstance(values, (tuple, list)) else values
                losses.append((first - 1.0).square().mean())
                found = torch.autograd.grad(losses[-1], parameters, allow_unused=True)
                moved = [(each, g) for each, g in zip(parameters, found) if g is not None]
                norm = sum(float(g.square().sum()) for _, g in moved) ** 0.5 or 1.0
                for each, g in moved:
                    each.data.sub_(0.02 / norm * g)
        return torch.stack(losses).detach()

    def repeated(self, **inputs):
        outputs = []
        for _ in range(2):
            torch.default_generator.manual_seed(0)
            values = self(**inputs)
            outputs.append(values[0] if isinstance(values, (tuple, list)) else values)
        return outputs
"""
"""A probe: short steps on one batch, and two calls after the same seed."""


@runs(LossFalls)
def try_loss_falls(check: LossFalls, context: Context, case: Case) -> None:
    module = _probed(check, context, case)
    losses = module.call("descended", **case.inputs)
    require_tensor(losses, "losses")
    first, last = float(losses[0]), float(losses[-1])
    if not last < first:
        text = f"{STEPS} steps of gradient descent: expected a loss below {number(first)}, saw {number(last)}"
        raise Failure("loss", text)


@runs(RepeatsWithASeed)
def try_repeats_with_a_seed(check: RepeatsWithASeed, context: Context, case: Case) -> None:
    first, again = _probed(check, context, case).call("repeated", **case.inputs)
    compare(again, first, "a second call after the same seed: output")


def _probed(check: Property, context: Context, case: Case) -> ModuleProxy:
    probe = PROBE.format(entry=context.exercise.interface.entry(), steps=STEPS)
    module = context.subject.build(case.arguments, probe=probe, entry="Variation", at_once=False)
    module.training = check.training
    return module
