"""Properties of dropout: when it acts, and on what."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from grader.course.arguments import AN_ARGUMENT, unknown_name
from grader.course.checks import Name
from grader.course.problem import Path, Problem
from grader.examiner.compare import FLOAT32, Failure, compare, require_shape
from grader.examiner.context import nth_output
from grader.examiner.property import Property

if TYPE_CHECKING:
    import torch

    from grader.course.records import Exercise
    from grader.examiner.case import Case
    from grader.examiner.context import Context
    from grader.examiner.proxies import ModuleProxy

SOME_DRAWS = 10
PATIENCE = 400
MOST_DRAWS = 40
"""A single weight comes out alike in so many draws of dropout with a chance of 2 ** -40."""


class DropoutOnlyInTraining(Property, frozen=True, tag="dropout_only_in_training"):
    """Dropout draws anew in training, and never in eval mode."""

    needs_module: ClassVar[bool] = True

    shows_values: ClassVar[bool] = False

    probability: Name = "dropout"
    """The constructor's argument that is the chance of being dropped."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: Path) -> Iterator[Problem]:  # noqa: ARG002
        yield from _probability_problems(self, self.probability, exercise, path)

    def try_case(self, context: "Context", case: "Case") -> None:
        import torch

        from grader.examiner.proxies import flatten

        module = context.ours(self, case.built_with(self.probability, 0.5))
        first, again = map(flatten, module.repeat(2, **case.inputs))
        if any(not torch.equal(one, other) for one, other in zip(first, again, strict=True)):
            raise Failure("dropout", "in eval mode, the same input twice: expected the same output, saw another")
        module.training = True
        if _comes_out_alike(module, case, 2) and _comes_out_alike(module, case, MOST_DRAWS):
            raise Failure(
                "no-dropout",
                f"in training mode with dropout 0.5, one input {MOST_DRAWS} times: expected other draws, "
                "saw one output",
            )
        ours, theirs = context.pair(self, case.built_with(self.probability, 1.0))
        ours.training = theirs.training = True
        what = "in training mode with dropout 1, output"
        compare(nth_output(ours(**case.inputs), 0), nth_output(theirs(**case.inputs), 0), what)


class DropoutActsOnWeights(Property, frozen=True, tag="dropout_acts_on_weights"):
    """With one sample, one head and one key, a draw of dropout takes the whole value or none of it."""

    needs_module: ClassVar[bool] = True

    shows_values: ClassVar[bool] = False

    probability: Name = "dropout"
    """The constructor's argument that is the chance of being dropped."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: Path) -> Iterator[Problem]:  # noqa: ARG002
        yield from _probability_problems(self, self.probability, exercise, path)

    def try_case(self, context: "Context", case: "Case") -> None:
        import torch

        is_default = self.probability in self.defaults
        ours, theirs = context.pair(self, case if is_default else case.built_with(self.probability, 0.5))
        ours.training = theirs.training = True
        possible = _two_draws(theirs, case)
        for value in ours.repeat(SOME_DRAWS, **case.inputs):
            draw = nth_output(value, 0)
            require_shape(draw, list(possible[0].shape), "output")
            if not any(torch.allclose(draw, one, FLOAT32.relative, FLOAT32.absolute) for one in possible):
                raise Failure(
                    "dropout-elsewhere",
                    f"in training mode with {'the default' if is_default else 'a'} dropout and a single key: "
                    "expected that key's value scaled up or none of it, saw an output that comes of neither",
                )


def _probability_problems(check: Property, name: str, exercise: "Exercise", path: Path) -> Iterator[Problem]:
    """A probability that no argument of the constructor is."""
    constructor = {**exercise.interface.constructor, **check.constructor}
    yield from unknown_name(AN_ARGUMENT, name, constructor, (*path, "probability"))


def _comes_out_alike(module: "ModuleProxy", case: "Case", times: int) -> bool:
    """Whether so many calls return the same."""
    import torch

    first, *others = (nth_output(value, 0) for value in module.repeat(times, **case.inputs))
    return all(torch.equal(first, other) for other in others)


def _two_draws(module: "ModuleProxy", case: "Case") -> list["torch.Tensor"]:
    """What a single weight can come out as: kept and dropped."""
    import torch

    draws = [nth_output(module(**case.inputs), 0)]
    for _ in range(PATIENCE):
        draw = nth_output(module(**case.inputs), 0)
        if not torch.equal(draw, draws[0]):
            return [*draws, draw]
    return draws
