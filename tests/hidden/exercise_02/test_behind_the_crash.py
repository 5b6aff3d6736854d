"""Looks past a crash, so that what it hides can be told apart: whole sizes, then whatever the values are missing."""

# B batch, H heads, T tokens, D embedding size

import torch

from grader.testing import compare

B, H, T, D = 2, 3, 5, 12

WHOLE_SIZES = """
class Variation(submission.MultiHeadAttention):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__(embed_dim, num_heads, dropout)
        if not isinstance(getattr(self, "head_dim", 0), int):
            self.head_dim = embed_dim // num_heads
"""

SPELLED_OUT = f"""
{WHOLE_SIZES}
torch.Tensor.vies = torch.Tensor.view
"""


def test_past_the_first_crash(subject, reference, gaussian):
    theirs = reference.build({"embed_dim": D, "num_heads": H})
    module = subject.build({"embed_dim": D, "num_heads": H}, like=theirs, probe=WHOLE_SIZES, entry="Variation")
    x_BTD = gaussian(B, T, D)
    compare(module(x=x_BTD), theirs(x=x_BTD), "with whole sizes, output")


def test_past_every_crash(subject, reference, gaussian):
    mask_TT = torch.ones(T, T, dtype=torch.bool)
    mask_TT[2] = False
    theirs = reference.build({"embed_dim": D, "num_heads": H})
    module = subject.build({"embed_dim": D, "num_heads": H}, like=theirs, probe=SPELLED_OUT, entry="Variation")
    inputs = {"x": gaussian(B, T, D), "mask": mask_TT}
    compare(module(**inputs), theirs(**inputs), "query 2 may look at no key; output")
