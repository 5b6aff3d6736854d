"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest
import torch
import torch.nn.functional as F


@pytest.mark.parametrize("counted", [None, 17])
def test_the_formula(subject, gaussian, counted):
    logits, tokens = gaussian(2, 5, 7), torch.tensor([[1, 2, -100, 3, 4], [5, 6, 0, 1, -100]])
    chances = F.log_softmax(logits, -1)
    terms = [
        -chances[text, place, tokens[text, place + 1]]
        for text in range(2)
        for place in range(4)
        if tokens[text, place + 1] >= 0
    ]
    expected = sum(terms) / (counted or len(terms))
    assert torch.allclose(subject(logits, tokens, counted), expected, atol=1e-5)
