"""Properties of masks: every shape that broadcasts and every dtype that can say which key is hidden."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.course.arguments import unknown_sizes
from grader.course.checks import Name, Shape
from grader.course.problem import Path, Problem
from grader.examiner.case import VISIBLE_SHARE, size_of
from grader.examiner.compare import compare
from grader.examiner.property import Property

if TYPE_CHECKING:
    import torch

    from grader.course.records import Exercise
    from grader.examiner.case import Case
    from grader.examiner.context import Context

DTYPES = ("bool", "int64", "float32", "uint8", "int32")
"""Truth values, and ones and zeros of integers and of the module's own dtype."""


class AcceptsMasks(Property, frozen=True, tag="accepts_masks"):
    """With a mask of each of the shapes, in one dtype after another, outputs equal the reference's."""

    shapes: tuple[Shape, ...]
    """The shapes that a mask may have."""
    mask: Name = "mask"
    """The input that is the mask."""
    keys: int = -1
    """The axis of the keys in all of them."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: Path) -> Iterator[Problem]:  # noqa: ARG002
        for index, shape in enumerate(self.shapes):
            yield from unknown_sizes(shape, sizes, (*path, "shapes", index))
            if not -len(shape) <= self.keys < len(shape):
                yield Problem((*path, "keys"), f"an axis of {shape}", str(self.keys), "write keys: -1")

    def try_case(self, context: "Context", case: "Case") -> None:
        import torch

        ours, theirs = context.pair(self, case)
        order = torch.randperm(len(DTYPES)).tolist()
        for index, shape in enumerate(self.shapes):
            dtype = DTYPES[order[index % len(order)]]
            mask = _random_mask([size_of(size, case.sizes) for size in shape], self.keys).to(getattr(torch, dtype))
            inputs = {**case.inputs, self.mask: mask}
            what = f"with a mask of shape {tuple(mask.shape)} and dtype {dtype}, output"
            compare(ours.call(self.method, **inputs), theirs.call(self.method, **inputs), what)


def _random_mask(shape: list[int], keys: int) -> "torch.Tensor":
    """Truth values of which one at least is true along the axis of the keys."""
    import torch

    mask = torch.rand(shape) < VISIBLE_SHARE
    one = [*shape]
    one[keys] = 1
    return mask.scatter(keys, torch.randint(shape[keys], one), value=True)
