"""What the heads find, in whatever order it is put together: the mask alone decides about it."""

# B batch, T words, F features, H heads

import torch

from grader.checks.compare import compare
from grader.testing import Failure

B, T, F, H = 3, 5, 12, 2


def test_each_word_obeys_its_own_mask(subject, reference, gaussian):
    arguments = {"features": F, "heads": H}
    theirs = reference.build(arguments, variation="Unmixed")
    ours = subject.build(arguments, like=theirs, variation="Unmixed")
    allowed = torch.zeros(B, T, T, dtype=torch.bool)
    for sample in range(B):
        allowed[sample, :, sample : sample + 2] = True
    inputs = {"x": gaussian(B, T, F), "allowed": allowed}
    seen, expected = ours.call("unmixed", **inputs), theirs.call("unmixed", **inputs)
    if not isinstance(seen, torch.Tensor) or seen.shape != expected.shape:
        raise Failure("shape", f"samples with masks of their own: expected an output of shape {tuple(expected.shape)}")
    item = "samples with masks of their own: all numbers in ascending order, so that only the masks matter,"
    compare(seen.flatten().sort().values, expected.flatten().sort().values, item)
