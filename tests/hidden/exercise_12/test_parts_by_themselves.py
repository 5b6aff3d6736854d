"""Where all keys are alike, every word counts the same; and the inner attention is a module of its own."""

# B batch, H heads, I queries, J keys, E d_model, D size of a head

import torch

from grader.checks.compare import compare

B, H, I, J, E, D = 2, 4, 3, 5, 24, 6


def test_one_query_among_keys_that_are_alike(subject, reference, gaussian):
    arguments = {"d_model": E, "n_head": H}
    theirs = reference.build(arguments)
    ours = subject.build(arguments, like=theirs)
    inputs = {"q": gaussian(B, 1, E), "k": torch.zeros(B, J, E), "v": gaussian(B, J, E)}
    compare(ours(**inputs), theirs(**inputs), "one query, and keys that are all zero: output")


def test_inner_attention_by_itself(subject, reference, gaussian):
    inputs = {"q": gaussian(B, H, I, D), "k": gaussian(B, H, J, D), "v": gaussian(B, H, J, D)}
    theirs = reference.build({}, entry="ScaleDotProductAttention")
    ours = subject.build({}, entry="ScaleDotProductAttention")
    compare(ours(**inputs), theirs(**inputs), "ScaleDotProductAttention by itself: output")
