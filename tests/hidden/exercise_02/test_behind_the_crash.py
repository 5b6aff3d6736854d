"""Looks past a crash, so that what it hides can be told apart: whole sizes, then whatever the values are missing."""

# B batch, H heads, T tokens, D embedding size

import torch

from grader.testing import compare

B, H, T, D = 2, 3, 5, 12


def test_past_the_first_crash(subject, reference, gaussian):
    theirs = reference.build({"embed_dim": D, "num_heads": H})
    module = subject.build({"embed_dim": D, "num_heads": H}, like=theirs, variation="WithWholeSizes")
    x_BTD = gaussian(B, T, D)
    compare(module(x=x_BTD), theirs(x=x_BTD), "with whole sizes, output")


def test_past_every_crash(subject, reference, gaussian):
    mask_TT = torch.ones(T, T, dtype=torch.bool)
    mask_TT[2] = False
    theirs = reference.build({"embed_dim": D, "num_heads": H})
    module = subject.build({"embed_dim": D, "num_heads": H}, like=theirs, variation="WithWholeSizesAndVies")
    inputs = {"x": gaussian(B, T, D), "mask": mask_TT}
    compare(module(**inputs), theirs(**inputs), "query 2 may look at no key; output")
