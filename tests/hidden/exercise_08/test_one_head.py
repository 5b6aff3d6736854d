"""A head by itself, smaller than the model it looks at."""

# B batch, T time, C n_embd, S head size, L block size

from grader.checks.compare import compare

B, T, C, S, L = 2, 5, 12, 4, 8


def test_a_head_works_by_itself(subject, reference, gaussian):
    arguments = {"n_embd": C, "head_size": S, "block_size": L}
    theirs = reference.build(arguments, entry="Head")
    ours = subject.build(arguments, like=theirs, entry="Head")
    x_BTC = gaussian(B, T, C)
    compare(ours(x=x_BTC), theirs(x=x_BTC), "Head by itself: output")
