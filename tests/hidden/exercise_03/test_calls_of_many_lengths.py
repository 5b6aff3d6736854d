"""One module serves sequences of any length, in any order."""

# B batch, T tokens, D input size

from grader.testing import compare

B, D = 2, 4
LENGTHS = (3, 8, 1, 5)
ARGUMENTS = {"input_dim": D, "output_dim": 6, "context_length": 8, "dropout": 0.0}


def test_calls_of_other_lengths_leave_no_trace(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS)
    ours = subject.build(ARGUMENTS, like=theirs)
    for index, length in enumerate(LENGTHS):
        x_BTD = gaussian(B, length, D)
        turns = " then ".join(map(str, LENGTHS[: index + 1]))
        compare(ours(x=x_BTD), theirs(x=x_BTD), f"the same module with {turns} tokens: output")
