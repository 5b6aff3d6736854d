"""Inputs of any magnitude, in float64, so that rounding plays no part."""

# B batch, T positions, D model size

import torch

from grader.examiner.compare import Tolerance, compare

B, T, D = 16, 6, 12
LOUD = (30.0, 1000.0, 30000.0)
ROUNDED = Tolerance(0.0, 0.0, of_largest=1e-2)
"""A softmax may be one of float32, which rounds scores of thousands to a thousandth."""


def test_loud_inputs_keep_their_order(subject, reference, gaussian):
    arguments = {"d_model": D, "n_heads": 3}
    theirs = reference.build(arguments, dtype="float64")
    ours = subject.build(arguments, like=theirs, dtype="float64")
    x_BTD = gaussian(B, T, D).to(torch.float64)
    for factor in LOUD:
        resid = x_BTD * factor
        compare(ours(resid=resid), theirs(resid=resid), f"inputs {factor:g} times as loud: output", ROUNDED)
