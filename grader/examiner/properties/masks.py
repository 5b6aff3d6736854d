"""Properties of masks: every shape that broadcasts and every dtype that can say which key is hidden."""

import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from grader.course.checks import Name, Shape, unknown_sizes
from grader.course.problem import Path, Problem
from grader.examiner.case import VISIBLE_SHARE, size_of
from grader.examiner.compare import Tolerance, compare
from grader.examiner.properties import Property

if TYPE_CHECKING:
    import torch

    from grader.course.records import Exercise
    from grader.examiner.case import Case
    from grader.examiner.context import Context

MaskDtype = typing.Literal["bool", "int64", "float32", "uint8", "int32"]
DTYPES = typing.get_args(MaskDtype)
"""Truth values, and ones and zeros of integers and of the module's own dtype."""

LOUDNESS = 1000.0
ONE_KEY = Tolerance(1e-4, 1e-5, of_largest=1e-4)
"""Where a query sees a single key, its weight is one whatever the scores are, and no softmax rounds."""


class AcceptsMasks(Property, frozen=True, tag="accepts_masks"):
    """With a mask of each of the shapes, in one dtype after another, outputs equal the reference's."""

    draws_equal_sizes: ClassVar[bool] = True

    shapes: tuple[Shape, ...]
    """The shapes that a mask may have."""
    mask: Name = "mask"
    """The input that is the mask."""
    keys: int = -1
    """The axis of the keys in all of them."""
    dtypes: tuple[MaskDtype, ...] = DTYPES
    """The dtypes that a mask may have."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: Path) -> Iterator[Problem]:
        for index, shape in enumerate(self.shapes):
            yield from unknown_sizes(shape, sizes, (*path, "shapes", index))
            if not -len(shape) <= self.keys < len(shape):
                yield Problem((*path, "keys"), f"an axis of {shape}", str(self.keys), "write keys: -1")

    def try_case(self, context: "Context", case: "Case") -> None:
        import torch

        ours, theirs = context.pair(self, case)
        order = torch.randperm(len(self.dtypes)).tolist()
        for index, shape in enumerate(self.shapes):
            dtype = self.dtypes[order[index % len(order)]]
            mask = _random_mask([size_of(size, case.sizes) for size in shape], self.keys).to(getattr(torch, dtype))
            inputs = {**case.inputs, self.mask: mask}
            what = f"with a mask of shape {tuple(mask.shape)} and dtype {dtype}, output"
            compare(ours.call(self.method, **inputs), theirs.call(self.method, **inputs), what)
        loud = {name: value * LOUDNESS for name, value in case.tensors().items() if name != self.mask}
        lonely = _random_mask([size_of(size, case.sizes) for size in self.shapes[0]], self.keys, visible=0.0)
        inputs = {**case.inputs, **loud, self.mask: lonely.to(getattr(torch, self.dtypes[order[0]]))}
        what = f"with inputs {LOUDNESS:g} times as large and a mask that leaves each query a single key, output"
        compare(ours.call(self.method, **inputs), theirs.call(self.method, **inputs), what, ONE_KEY)


def _random_mask(shape: list[int], keys: int, visible: float = VISIBLE_SHARE) -> "torch.Tensor":
    """Truth values of which one at least is true along the axis of the keys."""
    import torch

    mask = torch.rand(shape) < visible
    one = [*shape]
    one[keys] = 1
    return mask.scatter(keys, torch.randint(shape[keys], one), value=True)
