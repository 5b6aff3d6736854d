"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch
import torch.nn.functional as F


def linear(layer_weights, name, x):
    return F.linear(x, layer_weights[f"{name}.weight"], layer_weights.get(f"{name}.bias"))


def attention(q, k, v, heads, visible=None, scaled=True):
    """The textbook's attention, heads one after the other; (batch, queries, width)."""
    q, k, v = (z.unflatten(-1, (heads, -1)).transpose(1, 2) for z in (q, k, v))
    scores = q @ k.mT * (q.size(-1) ** -0.5 if scaled else 1.0)
    if visible is not None:
        scores = scores.masked_fill(~visible, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


def past(tokens):
    return torch.ones(tokens, tokens).tril().bool()


def test_pieces_give_what_the_whole_gives(subject, gaussian):
    m, x = subject(12, 3, 20), gaussian(2, 9, 12)
    whole = m(x)
    pieces = [m(x[:, :3]), m(x[:, 3:5], more=True), m(x[:, 5:6], more=True), m(x[:, 6:], more=True)]
    assert torch.allclose(torch.cat(pieces, 1), whole, atol=1e-4)


def test_the_offset_counts_the_words(subject, gaussian):
    m, x = subject(12, 3, 20), gaussian(1, 8, 12)
    counts = [m.offset]
    for start in range(0, 8, 2):
        m(x[:, start : start + 2], more=start > 0)
        counts.append(m.offset)
    assert counts == [0, 2, 4, 6, 8]
