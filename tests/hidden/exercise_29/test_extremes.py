"""Nothing to guess, many kinds of tokens, and large counts."""

# N texts, T places, V vocabulary

import torch

from grader.checks.compare import FLOAT64, compare

N, T, V = 3, 4, 5
MANY = 70_000
SEEN = [[7, 40_000, 69_999, 65_600, 3], [32_768, 4_100, 12, 50_001, 65_535]]
COUNTS = (2_049, 100_003, 16_777_217)
"""Whole numbers that short floats do not have, the last one not even float32."""
PROBE = """
class Variation(torch.nn.Module):
    def learn(self, logits, tokens, counted):
        with torch.enable_grad():
            leaf = logits.detach().clone().requires_grad_()
            loss = submission.language_loss(logits=leaf, tokens=tokens, counted=counted)
            loss.backward()
        gradient = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        return {"the loss": loss.detach(), "its gradient": gradient}
"""


def test_backward_where_nothing_is_to_guess(subject, gaussian):
    module = subject.build({}, probe=PROBE, entry="Variation")
    for dtype in (torch.float32, torch.float64):
        for places, token in ((T, -100), (1, 2)):
            logits, tokens = gaussian(N, places, V).to(dtype), torch.full((N, places), token)
            expected = {"the loss": torch.zeros((), dtype=dtype), "its gradient": torch.zeros_like(logits)}
            for counted in (None, 7):
                seen = module.call("learn", logits=logits, tokens=tokens, counted=counted)
                where = f"no target, counted={counted}, {str(dtype).removeprefix('torch.')}, after backward():"
                compare(seen, expected, where)


def test_many_kinds_of_tokens(subject, reference, gaussian):
    ours, theirs = subject(), reference()
    tokens = torch.tensor(SEEN)
    inputs = {"logits": gaussian(*tokens.shape, MANY).double(), "tokens": tokens}
    compare(ours(**inputs), theirs(**inputs), f"a vocabulary of {MANY}, in float64: loss", FLOAT64)


def test_large_counts(subject, reference, gaussian):
    ours, theirs = subject(), reference()
    inputs = {"logits": gaussian(N, T, V).double(), "tokens": gaussian(N, T, V).argmax(dim=-1)}
    for counted in COUNTS:
        seen, expected = (each(**inputs, counted=counted) for each in (ours, theirs))
        compare(seen, expected, f"counted={counted}, in float64: loss", FLOAT64)
        compare(counted * seen, counted * expected, f"counted={counted}, in float64: the loss times counted", FLOAT64)
