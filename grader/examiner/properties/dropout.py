"""Properties of dropout: when it acts, and on what."""

import torch

from grader.course import checks as c
from grader.examiner.case import Case
from grader.examiner.compare import FLOAT32, Failure, compare, require_shape
from grader.examiner.context import Context, nth_output, try_rung
from grader.examiner.proxies import ModuleProxy, flatten

SOME_DRAWS = 10
PATIENCE = 400
MOST_DRAWS = 40
"""A single weight comes out alike in so many draws of dropout with a chance of 2 ** -40."""


@try_rung.register
def _(check: c.DropoutOnlyInTraining, context: Context, case: Case) -> None:
    module = context.ours(check, case.built_with(check.probability, 0.5))
    first, again = map(flatten, module.repeat(2, **case.inputs))
    if any(not torch.equal(one, other) for one, other in zip(first, again, strict=True)):
        raise Failure("dropout", "in eval mode, the same input twice: expected the same output, saw another")
    module.training = True
    if _comes_out_alike(module, case, 2) and _comes_out_alike(module, case, MOST_DRAWS):
        raise Failure(
            "no-dropout",
            f"in training mode with dropout 0.5, one input {MOST_DRAWS} times: expected other draws, saw one output",
        )
    ours, theirs = context.pair(check, case.built_with(check.probability, 1.0))
    ours.training = theirs.training = True
    what = "in training mode with dropout 1, output"
    compare(nth_output(ours(**case.inputs), 0), flatten(theirs(**case.inputs))[0], what)


@try_rung.register
def _(check: c.DropoutActsOnWeights, context: Context, case: Case) -> None:
    is_default = check.probability in check.defaults
    ours, theirs = context.pair(check, case if is_default else case.built_with(check.probability, 0.5))
    ours.training = theirs.training = True
    possible = _two_draws(theirs, case)
    for value in ours.repeat(SOME_DRAWS, **case.inputs):
        draw = nth_output(value, 0)
        require_shape(draw, list(possible[0].shape), "output")
        if not any(torch.allclose(draw, one, FLOAT32.relative, FLOAT32.absolute) for one in possible):
            raise Failure(
                "dropout-elsewhere",
                f"in training mode with {'the default' if is_default else 'a'} dropout and a single key: expected that "
                "key's value scaled up or none of it, saw an output that comes of neither",
            )


def _comes_out_alike(module: ModuleProxy, case: Case, times: int) -> bool:
    """Whether so many calls return the same."""
    first, *others = (nth_output(value, 0) for value in module.repeat(times, **case.inputs))
    return all(torch.equal(first, other) for other in others)


def _two_draws(module: ModuleProxy, case: Case) -> list[torch.Tensor]:
    """What a single weight can come out as: kept and dropped."""
    draws: list[torch.Tensor] = [flatten(module(**case.inputs))[0]]
    for _ in range(PATIENCE):
        draw = flatten(module(**case.inputs))[0]
        if not torch.equal(draw, draws[0]):
            return [*draws, draw]
    return draws
