"""A wish for explanations that came with one call is good for that call, and changes no value."""

from grader.testing import Failure, compare

ARGUMENTS = {"input_dim": 5, "output_dim": 12, "context_length": 8, "dropout": 0.0, "num_heads": 3}


def test_a_verbose_call_does_not_make_later_calls_verbose(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS)
    module = subject.build(ARGUMENTS, like=theirs)
    x = gaussian(2, 3, 5)
    explained = module(x=x, verbose=True)
    module.printed()
    module(x=x)
    printed = module.printed()
    if printed:
        first = printed.strip()[:60]
        raise Failure("prints", f"a call without verbose after one with it: expected nothing on stdout, saw {first!r}")
    compare(explained, theirs(x=x), "called with verbose=True: output")
