"""Padding that is not there changes nothing, and samples are padded each in its own way."""

# B batch, T tokens, D input features

import torch

from grader.examiner.compare import FLOAT32, compare, require_close, require_shape, require_tensor

B, T, D = 3, 5, 4
ARGUMENTS = {"d_in": D, "d_out": 12, "num_heads": 2, "context_length": 8}


def test_padding_that_is_not_there_changes_nothing(subject, gaussian):
    module = subject.build(ARGUMENTS)
    x = gaussian(B, T, D)
    without, with_keep = module(x=x), module(x=x, keep=torch.ones(B, T, dtype=torch.bool))
    for seen in (without, with_keep):
        require_tensor(seen, "output")
    what = "without keep, and with a keep that keeps everything: output"
    require_shape(without, list(with_keep.shape), what)
    require_close(without, with_keep, what, FLOAT32)


def test_each_sample_has_padding_of_its_own(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS)
    ours = subject.build(ARGUMENTS, like=theirs)
    x = gaussian(B, T, D)
    keep = torch.arange(T) < torch.tensor([2, 5, 4])[:, None]
    keep[2, 1] = False
    compare(ours(x=x, keep=keep), theirs(x=x, keep=keep), "2 real tokens, all 5, and 3 with padding between: output")
    keep = keep[[1, 0, 2]]
    compare(ours(x=x, keep=keep), theirs(x=x, keep=keep), "all 5 tokens real, 2, and 3 with padding between: output")


def test_as_many_samples_as_tokens(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS)
    ours = subject.build(ARGUMENTS, like=theirs)
    x = gaussian(T, T, D)
    keep = torch.arange(T) < torch.tensor([5, 2, 4, 1, 3])[:, None]
    compare(ours(x=x, keep=keep), theirs(x=x, keep=keep), "5 samples of 5 tokens with padding: output")
