"""Padding that is not there changes nothing."""

# B batch, T tokens, D input features

import torch

from grader.checks.compare import require_close, require_form
from grader.checks.tolerances import FLOAT32

B, T, D = 3, 5, 4
ARGUMENTS = {"d_in": D, "d_out": 12, "num_heads": 2, "context_length": 8}


def test_padding_that_is_not_there_changes_nothing(subject, reference, gaussian):
    """Both calls are compared only if the one without padding is wrong. Other checks compare calls with padding."""
    right = reference.build(ARGUMENTS)
    module = subject.build(ARGUMENTS, like=right)
    x = gaussian(B, T, D)
    without, with_keep = module(x=x), module(x=x, keep=torch.ones(B, T, dtype=torch.bool))
    expected = right(x=x)
    item = "without keep, and with a keep that keeps everything: output"
    for seen in (without, with_keep):
        require_form(seen, expected, item)
    if torch.allclose(without, expected, rtol=1e-4, atol=1e-5):
        return
    require_close(without, with_keep, item, FLOAT32)
