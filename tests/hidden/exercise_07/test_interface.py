"""What the interface promises beside the layer's own call."""

# T tokens, B batch, D model size

from grader.testing import Failure, compare

T, B, D = 5, 2, 12
PREPARATION = {"d_model": D, "heads": 3, "d_k": 5, "bias": True}

NOSY = """
class Variation(submission.MultiHeadAttention):
    def keeps_the_graph(self):
        return self.attn.requires_grad
"""


def test_prepare_cuts_a_linear_map_into_heads(subject, reference, gaussian):
    theirs = reference.build(PREPARATION, entry="PrepareForMultiHeadAttention")
    ours = subject.build(PREPARATION, entry="PrepareForMultiHeadAttention", like=theirs)
    x_TBD = gaussian(T, B, D)
    compare(ours(x=x_TBD), theirs(x=x_TBD), "PrepareForMultiHeadAttention by itself: output")


def test_stored_weights_are_detached(subject, gaussian):
    module = subject.build({"heads": 3, "d_model": D, "dropout_prob": 0.0}, probe=NOSY, entry="Variation")
    x_TBD = gaussian(T, B, D)
    module(query=x_TBD, key=x_TBD, value=x_TBD)
    if module.call("keeps_the_graph"):
        raise Failure(
            "graph", "after a call, the attribute attn: expected a detached tensor, saw one that requires a gradient"
        )
