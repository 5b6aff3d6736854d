"""What belongs to the caller, or to a subclass, is the same after a call."""

# I queries, J keys, B batch, H heads

import torch

from grader.testing import compare

I, J, B, H = 3, 5, 2, 4
MASK_DTYPES = (torch.float32, torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool)
KEEPING = """
class Variation(submission.MultiHeadAttention):
    def get_scores(self, query, key):
        self.returned = super().get_scores(query, key).clone(memory_format=torch.contiguous_format)
        self.before = self.returned.detach().clone()
        return self.returned

    def scores_after_a_call(self, **inputs):
        self.forward(**inputs)
        recorded = self.returned.detach().clone(), self.before
        with torch.no_grad():
            self.forward(**inputs)
        return *recorded, self.returned, self.before
"""


def vectors(gaussian, size):
    return {"query": gaussian(I, B, size), "key": gaussian(J, B, size), "value": gaussian(J, B, size)}


def some_mask():
    mask_IJB = torch.ones(I, J, B)
    mask_IJB[:, 1] = mask_IJB[2, 3] = 0
    return mask_IJB


def test_scores_of_a_subclass_are_the_same_after_a_call(subject, gaussian):
    inputs = vectors(gaussian, 24)
    require_scores_kept(subject, inputs, "without a mask")
    require_scores_kept(subject, {**inputs, "mask": torch.ones(I, J, B)}, "with a mask that hides nothing")


def test_scores_of_a_subclass_are_the_same_after_a_call_with_a_mask(subject, gaussian):
    require_scores_kept(subject, {**vectors(gaussian, H), "mask": some_mask()}, "with a mask")


def require_scores_kept(subject, inputs, given):
    """Compare the tensor that `get_scores` returned with itself after a call, with gradients and under no_grad."""
    width = inputs["query"].shape[-1]
    module = subject.build({"heads": H, "d_model": width, "dropout_prob": 0.0}, probe=KEEPING, entry="Variation")
    kept = module.call("scores_after_a_call", **inputs)
    for after, before, mode in ((*kept[:2], ""), (*kept[2:], ", under no_grad")):
        item = f"d_k={width // H}, {given}{mode}: the tensor that get_scores returned, after the call"
        compare(after, before, item)


def test_masks_of_any_dtype_are_the_same_after_a_call(subject, gaussian):
    module = subject.build({"heads": H, "d_model": 24, "dropout_prob": 0.0})
    inputs = vectors(gaussian, 24)
    for dtype in MASK_DTYPES:
        mask = some_mask().to(dtype)
        module(**inputs, mask=mask)
        compare(module.inputs_after()["mask"], mask, f"the caller's mask of {dtype}, after the call")
