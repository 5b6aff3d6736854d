"""A mask of any other layout is refused, and the refusal says what came."""

# I queries, J keys, B batch, H heads

import torch

from grader.testing import Failure, SubjectRaisedError

I, J, B, H, D = 3, 5, 2, 4, 24
ODD = 7

LAYOUTS = {
    "batch first": (B, I, J),
    "without a batch axis": (I, J),
    "with an axis for the heads": (I, J, B, H),
    "for more keys": (I, ODD, B),
    "for more queries": (ODD, J, B),
    "for more samples": (I, J, ODD),
}


def test_masks_of_other_layouts_are_explained(subject, gaussian):
    module = subject.build({"heads": H, "d_model": D, "dropout_prob": 0.0})
    inputs = {"query": gaussian(I, B, D), "key": gaussian(J, B, D), "value": gaussian(J, B, D)}
    for layout, shape in LAYOUTS.items():
        require_refusal(module, inputs, shape, f"a mask {layout}, of shape {shape}")


def require_refusal(module, inputs, shape, given):
    """Raise `Failure` unless a refusal gives the sizes of the mask."""
    try:
        module(**inputs, mask=torch.ones(shape, dtype=torch.bool))
    except SubjectRaisedError as error:
        raised = error.raised
    else:
        raise Failure("not-refused", f"{given}: expected ValueError or AssertionError, got no exception")
    if not {"ValueError", "AssertionError"} & set(raised.bases):
        observed = f"{raised.type}: {raised.text[:120]}" if raised.text else raised.type
        raise Failure(f"refused-by-{raised.type}", f"{given}: expected ValueError or AssertionError, got {observed}")
    missing = [str(size) for size in shape if str(size) not in raised.text]
    if missing:
        raise Failure("unclear-refusal", f"{given}: expected a message that gives its shape, got {raised.text[:120]!r}")
