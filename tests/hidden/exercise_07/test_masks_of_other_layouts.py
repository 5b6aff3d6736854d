"""A mask of any other layout is refused, and the refusal says what came."""

# I queries, J keys, B batch, H heads

import re

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
NEXT_TO_EACH_OTHER = r"\D{1,20}"
IN_WORDS = "q.*k.*(b|sampl)"
"""Queries, keys and batch, or other words for them, in this order."""


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
    text = raised.text
    missing = [str(size) for size in shape if str(size) not in text]
    own_shape = re.search(NEXT_TO_EACH_OTHER.join(rf"(?<!\d){size}(?!\d)" for size in shape), text)
    if missing or not own_shape:
        raise Failure("unclear-refusal", f"{given}: expected a message that gives its shape, got {text[:120]!r}")
    others = text[: own_shape.start()] + text[own_shape.end() :]
    in_numbers = ".*".join(rf"(?<!\d){size}(?!\d)" for size in (I, J, B))
    if not re.search(in_numbers, others, re.DOTALL) and not re.search(IN_WORDS, others, re.DOTALL | re.IGNORECASE):
        raise Failure(
            "unclear-refusal",
            f"{given}: expected a message that also gives the right layout (queries, keys, batch), got {text[:120]!r}",
        )
