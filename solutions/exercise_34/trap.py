"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest
import torch


def test_the_word_that_reaches_the_share_is_kept(subject):
    chances = torch.tensor([[0.5, 0.3, 0.15, 0.05]])
    found = subject(chances.log(), share=0.7)
    assert torch.allclose(found, torch.tensor([[0.625, 0.375, 0.0, 0.0]]), atol=1e-5)


@pytest.mark.parametrize("warmth", [1.0, 2.0])
def test_the_words_keep_their_places(subject, warmth):
    chances = torch.tensor([[0.05, 0.5, 0.3, 0.15], [0.15, 0.3, 0.05, 0.5]])
    found = subject(warmth * chances.log(), 0.7, warmth)
    assert torch.allclose(found, torch.tensor([[0.0, 0.625, 0.375, 0.0], [0.0, 0.375, 0.0, 0.625]]), atol=1e-5)
