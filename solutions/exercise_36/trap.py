"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest
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


def built(subject, gaussian, width, heads):
    m = subject(width, heads)
    m.load_state_dict({name: gaussian(*each.shape) for name, each in m.state_dict().items()})
    return m


def expected(m, x, heads):
    w = m.state_dict()
    h = F.layer_norm(x, x.shape[-1:], w["norm.weight"], w["norm.bias"])
    q, k, v = F.linear(h, w["qkv.weight"]).chunk(3, -1)
    return x + linear(w, "proj", attention(q + w["q_bias"], k, v + w["v_bias"], heads))


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_formula(subject, gaussian, grad, training, dtype):
    m, x = built(subject, gaussian, 12, 3).to(dtype).train(training), gaussian(2, 5, 12).to(dtype)
    with torch.set_grad_enabled(grad):
        found = m(x)
    assert torch.allclose(found, expected(m, x, 3), rtol=1e-4, atol=1e-3)


def test_every_one_of_many_patches_counts(subject):
    m, one, none = subject(2, 1), torch.eye(2), torch.zeros(2)
    weights = {"qkv.weight": torch.cat([0 * one, 0 * one, one]), "q_bias": none, "v_bias": none}
    weights |= {"norm.weight": 2 * torch.ones(2), "norm.bias": none, "proj.weight": one, "proj.bias": none}
    m.load_state_dict(weights)
    x = torch.tensor([3.0, 1.0]).repeat(1, 2100, 1)
    x[:, 2050:] = torch.tensor([1.0, 3.0])
    with torch.no_grad():
        found = m(x)
    mean = 2 * (2050 - 50) / 2100 * torch.tensor([1.0, -1.0])
    assert torch.allclose(found, x + mean, atol=1e-3)


def test_the_norm_is_the_usual_one(subject, gaussian):
    m, x = built(subject, gaussian, 12, 3), 1e-3 * gaussian(2, 5, 12)
    assert torch.allclose(m(x), expected(m, x, 3), rtol=1e-4, atol=1e-3)


def test_the_saved_names(subject):
    names = ["norm.bias", "norm.weight", "proj.bias", "proj.weight", "q_bias", "qkv.weight", "v_bias"]
    assert sorted(subject(12, 3).state_dict()) == names


def test_large_scores_and_patches(subject, gaussian):
    m, x = built(subject, gaussian, 12, 3).double(), 1e7 * gaussian(2, 5, 12).double()
    with torch.no_grad():
        m.norm.weight.mul_(100)
    assert torch.allclose(m(x), expected(m, x, 3), rtol=1e-9, atol=1e-3)
