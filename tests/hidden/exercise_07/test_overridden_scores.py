"""`get_scores` is meant to be overridden; what comes after it must leave its result alone."""

# I queries, J keys, B batch, H heads, D model size

import torch

from grader.testing import compare, compare_gradient

ARGUMENTS = {"heads": 3, "d_model": 12, "dropout_prob": 0.0}

SQUASHED = """
class Variation(submission.MultiHeadAttention):
    def get_scores(self, query, key):
        return torch.tanh(super().get_scores(query, key))
"""

SHARED = """
class Variation(submission.MultiHeadAttention):
    def get_scores(self, query, key):
        first = super().get_scores(query[:, :, :1], key[:, :, :1])
        return first.expand(-1, -1, -1, query.shape[2])
"""


def test_scores_that_remember_their_own_value_can_be_differentiated(subject, reference, gaussian):
    agree_on_values_and_gradients(SQUASHED, subject, reference, gaussian)


def test_scores_shared_between_heads_are_accepted(subject, reference, gaussian):
    agree_on_values_and_gradients(SHARED, subject, reference, gaussian)


def test_a_mask_does_not_touch_scores_that_are_still_needed(subject, reference, gaussian):
    mask_IJB = torch.ones(5, 7, 1, dtype=torch.bool)
    mask_IJB[:, 4:] = False
    agree_on_values_and_gradients(SQUASHED, subject, reference, gaussian, mask=mask_IJB)


def agree_on_values_and_gradients(variation, subject, reference, gaussian, **more):
    """Subclass and reference's subclass compute the same, forward and backward."""
    theirs = reference.build(ARGUMENTS, probe=variation, entry="Variation")
    ours = subject.build(ARGUMENTS, like=theirs, probe=variation, entry="Variation")
    inputs = {
        "query": gaussian(5, 2, 12),
        "key": gaussian(7, 2, 12),
        "value": gaussian(7, 2, 12),
        **more,
    }  # (I, B, D), (J, B, D)
    cotangent_IBD = gaussian(5, 2, 12)
    expected = theirs.differentiate([cotangent_IBD], **inputs)
    seen = ours.differentiate([cotangent_IBD], **inputs)
    compare(seen.value, expected.value, "with get_scores overridden, output")
    for name, gradient in expected.parameters.items():
        compare_gradient(seen.parameters.get(name), gradient, f"with get_scores overridden, {name}")
    (unrecorded,) = ours.call_each([inputs], grad=False)
    compare(unrecorded, expected.value, "with get_scores overridden, under no_grad, output")
