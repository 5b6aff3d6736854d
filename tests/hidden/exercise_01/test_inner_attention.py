"""The inner attention module, by itself: there may be more keys than queries, and vectors of any size."""

# B batch, H heads, I queries, J keys, D size of a vector

import torch

from grader.testing import compare

B, H, I, J, D = 2, 3, 4, 5, 7


def test_inner_attention_works_by_itself(subject, reference, gaussian):
    inputs = {"query": gaussian(B, H, I, D), "key": gaussian(B, H, J, D), "value": gaussian(B, H, J, D)}
    mask_IJ = torch.ones(I, J, dtype=torch.bool).tril()
    theirs = reference.build({}, entry="ScaledDotProductAttention")
    ours = subject.build({}, entry="ScaledDotProductAttention")
    compare(ours(**inputs), theirs(**inputs), "ScaledDotProductAttention by itself: output")
    compare(
        ours(**inputs, mask=mask_IJ), theirs(**inputs, mask=mask_IJ), "ScaledDotProductAttention with a mask: output"
    )
