"""What the page promises at its limits: one token too many, and numbers of a thousand."""

# B batch, T tokens, I input size, O output size

import torch

from grader.testing import Failure, SubjectRaisedError, compare

B, I, O = 2, 4, 6
TOO_LONG = {1: (2, 3), 2: (3, 4), 5: (6, 10), 8: (9, 16, 24)}
"""Numbers of tokens that are refused, by `context_length`."""
LOUDEST = 1000.0


def test_every_longer_sequence_is_refused_every_time(subject, gaussian):
    for context, lengths in TOO_LONG.items():
        ours = subject.build({"input_dim": I, "output_dim": O, "context_length": context, "dropout": 0.0})
        full = gaussian(B, context, I)
        before = full_output(ours, full)
        for length in lengths:
            x = gaussian(B, length, I)
            for again in ("", ", given once more"):
                require_refusal(ours, x, f"{length} tokens{again}, with context_length={context}")
            if before is None:
                continue
            item = f"context_length={context}, after {length} tokens were refused: output for {context} tokens"
            compare(ours(x=full), before, item)


def test_numbers_of_a_thousand_are_attended_to_as_others_are(subject, reference, gaussian):
    size = 32
    arguments = {"input_dim": size, "output_dim": size, "context_length": 4, "dropout": 0.0}
    theirs = reference.build(arguments)
    ours = subject.build(arguments, like=theirs)
    weights = theirs.weights()
    product = weights["W_query.weight"].T @ weights["W_key.weight"]
    directions = torch.linalg.eigh(product + product.T).eigenvectors
    low, high = (LOUDEST * directions[:, place].sign() for place in (0, -1))  # how such a token scores itself
    later = LOUDEST * gaussian(size).sign()
    x = torch.stack([torch.stack([low, low, later]), torch.stack([high / 2, high, later])])
    seen, expected = ours(x=x), theirs(x=x)
    if isinstance(seen, torch.Tensor) and seen.shape == expected.shape:
        seen, expected = seen[:, :2], expected[:, :2]  # where one score is far above the others
    compare(seen, expected, f"numbers up to {LOUDEST:g}: output of the first two of three tokens")


def full_output(module, x):
    """Return the output for as many tokens as the context has; None if they are refused, which other checks see."""
    try:
        return module(x=x)
    except SubjectRaisedError:
        return None


def require_refusal(module, x, given):
    """Raise `Failure` unless the module refuses the sequence with a `ValueError`."""
    try:
        module(x=x)
    except SubjectRaisedError as error:
        raised = error.raised
    else:
        raise Failure("not-refused", f"{given}: expected ValueError, got no exception")
    if "ValueError" not in raised.bases:
        observed = f"{raised.type}: {raised.text[:120]}" if raised.text else raised.type
        raise Failure(f"refused-by-{raised.type}", f"{given}: expected ValueError, got {observed}")
