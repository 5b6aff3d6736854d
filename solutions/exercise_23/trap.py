"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest
import torch
import torch.nn.functional as F

SLOPES = {2: [2**-4, 2**-8], 3: [2**-4, 2**-8, 2**-2], 4: [2**-2, 2**-4, 2**-6, 2**-8]}


@pytest.mark.parametrize("heads", [2, 3, 4])
@pytest.mark.parametrize("earlier", [0, 3])
def test_the_formula(subject, gaussian, heads, earlier):
    m = subject(24, heads)
    w, x, memory = m.state_dict(), gaussian(2, 5, 24), gaussian(2, earlier, 24)
    both = torch.cat([memory, x], 1)
    q, k, v = (
        F.linear(z, w[f"{name}.weight"]).unflatten(-1, (heads, -1)).transpose(1, 2)
        for name, z in (("query", x), ("key", both), ("value", both))
    )
    distance = (torch.arange(5)[:, None] + earlier) - torch.arange(5 + earlier)
    scores = q @ k.mT / q.size(-1) ** 0.5 - torch.tensor(SLOPES[heads])[:, None, None] * distance
    found = scores.masked_fill(distance < 0, -torch.inf).softmax(-1) @ v
    expected = F.linear(found.transpose(1, 2).flatten(2), w["merge.weight"], w["merge.bias"])
    assert torch.allclose(m(x, memory) if earlier else m(x), expected, atol=1e-4)
