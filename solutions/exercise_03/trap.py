"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest
import torch


def test_the_past_does_not_see_the_future(subject, gaussian):
    attend = subject(input_dim=4, output_dim=6, context_length=8, dropout=0.0)
    x = gaussian(2, 5, 4)
    y = x.clone()
    y[:, 4] = gaussian(2, 4)
    assert torch.allclose(attend(x=x)[:, :4], attend(x=y)[:, :4], atol=1e-5)


@pytest.mark.parametrize(("tokens", "context_length"), [(3, 1), (9, 8)])
def test_a_long_sequence_is_refused(subject, gaussian, tokens, context_length):
    attend = subject(4, 6, context_length, 0.0)
    with pytest.raises(ValueError, match=str(context_length)):
        attend(gaussian(1, tokens, 4))
