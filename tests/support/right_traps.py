# ruff: noqa: E501 - each test is a line
"""Generated tests in many styles: right ones must count, and weak ones must get the standing that explains them."""

import textwrap
from collections.abc import Iterator
from itertools import product

from msgspec import Struct

from grader.trap.result import Standing

HEAD = """
import copy
import math

import numpy as np
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F


@pytest.fixture
def sizes():
    return {"batch": 2, "tokens": 5, "width": 4, "out": 6, "context": 8}


def weights_of(m):
    return (m.W_query.weight, m.W_key.weight, m.W_value.weight)


def by_matmul(m, x):
    q, k, v = (x @ w.T for w in weights_of(m))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = torch.triu(torch.ones(x.shape[1], x.shape[1]), diagonal=1).bool()
    return torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1) @ v


def by_einsum(m, x):
    q, k, v = (torch.einsum("bti,oi->bto", x, w) for w in weights_of(m))
    scores = torch.einsum("bto,bso->bts", q, k) * q.shape[-1] ** -0.5
    hidden = torch.ones(x.shape[1], x.shape[1]).tril() == 0
    scores[:, hidden] = -torch.inf
    return torch.einsum("bts,bso->bto", scores.softmax(-1), v)


def by_fused(m, x):
    w = m.state_dict()
    q, k, v = (F.linear(x, w[f"W_{name}.weight"]) for name in ("query", "key", "value"))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def by_loops(m, x):
    q, k, v = (F.linear(x, w) for w in weights_of(m))
    rows = []
    for sample in range(x.shape[0]):
        for token in range(x.shape[1]):
            scores = torch.stack([q[sample, token] @ k[sample, s] for s in range(token + 1)]) / q.shape[-1] ** 0.5
            rows.append((scores.exp() / scores.exp().sum()) @ v[sample, : token + 1])
    return torch.stack(rows).view(x.shape[0], x.shape[1], -1)
"""

ORACLES = ("by_matmul", "by_einsum", "by_fused", "by_loops")

BUILDS = {
    "by_keyword": "m = subject(input_dim=4, output_dim=6, context_length=8, dropout=0.0)\nx = gaussian(2, 5, 4)\ny = m(x=x)",
    "by_position": "m = subject(4, 6, 8, 0.0)\nx = gaussian(1, 3, 4)\ny = m(x)",
    "evaluated": "m = subject(4, 6, 8, 0.9).eval()\nx = gaussian(3, 8, 4)\nwith torch.no_grad():\n    y = m(x)",
    "in_training": "m = subject(5, 3, 7, dropout=0.0).train()\nx = gaussian(3, 7, 5)\ny = m(x)",
    "in_float64": "m = subject(4, 6, 8, 0.0).double()\nx = gaussian(2, 5, 4, dtype=torch.float64)\ny = m(x)",
    "with_loaded_weights": (
        "m = subject(4, 6, 8, 0.0)\nm.load_state_dict({n: gaussian(*w.shape) if n.startswith('W_') else w "
        "for n, w in m.state_dict().items()})\nx = gaussian(2, 4, 4)\ny = m(x)"
    ),
    "transposed": "m = subject(4, 6, 8, 0.0)\nx = gaussian(2, 4, 5).transpose(1, 2)\ny = m(x)",
}
COMPARISONS = {
    "allclose": "assert torch.allclose(y, expected, atol=1e-5)",
    "loosely": "assert torch.allclose(y, expected, rtol=1e-2, atol=1e-3)",
    "assert_close": "torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-5)",
    "the_largest_difference": "assert (y - expected).abs().max() < 1e-5",
    "approx": "assert y.flatten().tolist() == pytest.approx(expected.flatten().tolist(), abs=1e-5)",
    "numpy": "np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), atol=1e-5)",
    "a_mean_square": "assert F.mse_loss(y, expected).item() < 1e-9",
}

PROPERTIES = {
    "causal": "m = subject(4, 6, 8, 0.0)\nx = gaussian(1, 5, 4)\nz = x.clone()\nz[:, 3:] += 1\n"
    "assert torch.allclose(m(x)[:, :3], m(z)[:, :3], atol=1e-5)",
    "causal_by_gradient": "m = subject(4, 6, 8, 0.0)\nx = gaussian(1, 5, 4).requires_grad_()\nm(x)[:, 1].sum().backward()\n"
    "assert x.grad[:, 2:].abs().max() < 1e-7",
    "causal_by_autograd": "m = subject(4, 6, 8, 0.0)\nx = gaussian(1, 5, 4).requires_grad_()\n"
    "(g,) = torch.autograd.grad(m(x)[:, 0].sum(), x)\nassert g[:, 1:].abs().max() < 1e-7",
    "a_prefix": "m = subject(4, 6, 8, 0.0)\nx = gaussian(2, 6, 4)\nassert torch.allclose(m(x)[:, :4], m(x[:, :4]), atol=1e-5)",
    "the_first_token": "m = subject(4, 6, 8, 0.0)\nx = gaussian(2, 6, 4)\nassert torch.allclose(m(x)[:, 0], m.W_value(x[:, 0]), atol=1e-5)",
    "samples_alone": "m = subject(4, 6, 8, 0.0)\nx = gaussian(3, 5, 4)\nassert torch.allclose(m(x)[1:2], m(x[1:2]), atol=1e-5)",
    "samples_in_another_order": "m = subject(4, 6, 8, 0.0)\nx = gaussian(3, 5, 4)\nassert torch.allclose(m(x.flip(0)), m(x).flip(0), atol=1e-5)",
    "refused": "with pytest.raises(ValueError):\n    subject(4, 6, 2, 0.0)(gaussian(1, 3, 4))",
    "refused_with_both_lengths": "with pytest.raises(ValueError) as error:\n    subject(4, 6, 17, 0.0)(gaussian(1, 23, 4))\nassert '17' in str(error.value) and '23' in str(error.value)",
    "refused_at_one": "with pytest.raises(ValueError, match='3'):\n    subject(4, 6, 1, 0.0)(gaussian(1, 3, 4))",
    "full_context": "assert subject(4, 6, 5, 0.0)(gaussian(2, 5, 4)).shape == (2, 5, 6)",
    "finite": "assert torch.isfinite(subject(4, 6, 8, 0.0)(100 * gaussian(2, 5, 4))).all()",
    "input_unchanged": "m = subject(4, 6, 8, 0.0)\nx = gaussian(2, 5, 4)\nz = x.clone()\nm(x)\nassert torch.equal(x, z)",
    "repeatable": "m = subject(4, 6, 8, 0.5).eval()\nx = gaussian(2, 5, 4)\nassert torch.equal(m(x), m(x))",
    "dropout_acts": "m = subject(4, 6, 8, 0.5).train()\nx = gaussian(4, 8, 4)\nassert not torch.equal(m(x), m(x))",
    "same_seed": "m = subject(4, 6, 8, 0.5).train()\nx = gaussian(2, 5, 4)\ntorch.manual_seed(3)\na = m(x)\ntorch.manual_seed(3)\nassert torch.allclose(a, m(x), atol=1e-6)",
    "seed_left_alone": "m = subject(4, 6, 8, 0.0)\ntorch.manual_seed(3)\nm(gaussian(2, 5, 4))\nassert torch.initial_seed() == 3",
    "a_layer_of_dropout": "assert isinstance(subject(4, 6, 8, 0.25).dropout, nn.Dropout)\nassert subject(4, 6, 8, 0.25).dropout.p == 0.25",
    "modes": "m = subject(4, 6, 8, 0.0)\nm.eval()\nassert not m.training\nm.train()\nassert m.training",
    "names": "assert {'W_query.weight', 'W_key.weight', 'W_value.weight'} <= {n for n, _ in subject(4, 6, 8, 0.0).named_parameters()}",
    "no_bias": "assert len(list(subject(4, 6, 8, 0.0).parameters())) == 3",
    "a_bias": "assert subject(4, 6, 8, 0.0, qkv_bias=True).W_query.bias.shape == (6,)",
    "every_weight_learns": "m = subject(4, 6, 8, 0.0)\nm(gaussian(2, 5, 4)).square().sum().backward()\nassert all(p.grad.abs().sum() > 0 for p in m.parameters())",
    "a_step_changes_the_result": "m = subject(4, 6, 8, 0.0)\nx = gaussian(2, 5, 4)\na = m(x)\na.square().sum().backward()\nwith torch.no_grad():\n    for p in m.parameters():\n        p -= 0.1 * p.grad\nassert not torch.allclose(a, m(x))",
    "an_optimizer": "m = subject(4, 6, 8, 0.0)\nx = gaussian(2, 5, 4)\no = torch.optim.SGD(m.parameters(), lr=0.01)\nlosses = []\nfor _ in range(5):\n    o.zero_grad()\n    loss = m(x).square().mean()\n    loss.backward()\n    o.step()\n    losses.append(loss.item())\nassert losses[-1] < losses[0]",
    "the_state_moves": "m, n = subject(4, 6, 8, 0.0), subject(4, 6, 8, 0.0)\nn.load_state_dict(m.state_dict())\nx = gaussian(2, 5, 4)\nassert torch.allclose(m(x), n(x), atol=1e-6)",
    "silent": "m = subject(4, 6, 8, 0.0)\ncapsys.readouterr()\nm(gaussian(1, 2, 4))\nassert capsys.readouterr().out == ''",
    "float64_in_and_out": "assert subject(4, 6, 8, 0.0).double()(gaussian(1, 2, 4).double()).dtype == torch.float64",
    "zero_weights": "m = subject(4, 6, 8, 0.0)\nwith torch.no_grad():\n    m.W_query.weight.zero_()\nx = gaussian(1, 4, 4)\nv = m.W_value(x)\nassert torch.allclose(m(x)[:, 3], v.mean(1), atol=1e-5)",
    "a_deep_copy_of_the_state": "m = subject(4, 6, 8, 0.0)\ns = copy.deepcopy(m.state_dict())\nm(gaussian(1, 2, 4))\nassert all(torch.equal(s[n], w) for n, w in m.state_dict().items())",
    "with_sizes_of_a_fixture": "m = subject(sizes['width'], sizes['out'], sizes['context'], 0.0)\nassert m(gaussian(sizes['batch'], sizes['tokens'], sizes['width'])).shape == (2, 5, 6)",
}

WEAK = {
    "shapes": ("assert subject(4, 6, 8, 0.0)(gaussian(2, 5, 4)).shape == (2, 5, 6)", Standing.COUNTS),
    "one_token": (
        "m = subject(4, 6, 8, 0.0)\nx = gaussian(1, 1, 4)\nassert torch.allclose(m(x), by_matmul(m, x), atol=1e-5)",
        Standing.COUNTS,
    ),
    "not_none": ("assert subject(4, 6, 8, 0.0)(gaussian(2, 5, 4)) is not None", Standing.COUNTS),
    "always_true": ("assert True", Standing.NEVER_CALLS),
    "only_torch": ("assert torch.ones(2).sum() == 2", Standing.NEVER_CALLS),
    "always_false": ("subject(4, 6, 8, 0.0)\nassert False", Standing.FAILS_REFERENCE),
    "golden_number": (
        "assert subject(4, 6, 8, 0.0)(torch.ones(1, 2, 4)).sum().item() == pytest.approx(0.1234)",
        Standing.FAILS_REFERENCE,
    ),
    "a_private_name": ("assert subject(4, 6, 8, 0.0)._weights is not None", Standing.FAILS_REFERENCE),
    "another_kind_of_error": (
        "with pytest.raises(IndexError):\n    subject(4, 6, 2, 0.0)(gaussian(1, 3, 4))",
        Standing.FAILS_REFERENCE,
    ),
    "the_wrong_formula": (
        "m = subject(4, 6, 8, 0.0)\nx = gaussian(1, 3, 4)\nassert torch.allclose(m(x), by_matmul(m, 2 * x), atol=1e-5)",
        Standing.FAILS_REFERENCE,
    ),
    "an_attribute_of_the_starter": ("assert subject(4, 6, 8, 0.0).causal_mask.shape == (8, 8)", Standing.FAILS_RIGHT),
    "flaky": (
        "import sys\nsubject(4, 6, 8, 0.0)(gaussian(2, 5, 4))\nsys.runs = getattr(sys, 'runs', 0) + 1\nassert sys.runs % 3",
        Standing.SOMETIMES,
    ),
    "too_slow": ("import time\nsubject(4, 6, 8, 0.0)\ntime.sleep(9)", Standing.TOO_SLOW),
}
"""Weak tests of exercise_03, each with what it is."""


WEAK_ENDINGS = {
    "the_shape": ("assert y.shape[:2] == x.shape[:2]", Standing.COUNTS),
    "is_a_tensor": ("assert isinstance(y, torch.Tensor)", Standing.COUNTS),
    "is_finite": ("assert torch.isfinite(y).all()", Standing.COUNTS),
    "the_dtype": ("assert y.dtype == x.dtype", Standing.COUNTS),
    "the_batch": ("assert len(y) == len(x)", Standing.COUNTS),
    "the_same_twice": ("assert torch.allclose(m(x), y, atol=1e-5)", Standing.COUNTS),
    "not_all_zero": ("assert y.abs().sum() > 0", Standing.COUNTS),
    "a_golden_number": ("assert y.sum().item() == pytest.approx(0.1234, abs=1e-7)", Standing.FAILS_REFERENCE),
    "a_private_name": ("assert m._weights is not None", Standing.FAILS_REFERENCE),
    "another_shape": ("assert y.shape == x.shape[:2]", Standing.FAILS_REFERENCE),
    "false": ("assert False", Standing.FAILS_REFERENCE),
    "a_wrong_formula": ("assert torch.allclose(y, by_matmul(m, 2 * x), atol=1e-5)", Standing.FAILS_REFERENCE),
    "a_formula_without_mask": (
        "q, k, v = (x @ w.T for w in weights_of(m))\nassert torch.allclose(y, F.scaled_dot_product_attention(q, k, v), atol=1e-5)",
        Standing.FAILS_REFERENCE,
    ),
}
"""Weak comparisons, each with what it is. They follow each of `BUILDS`."""


class WrittenTest(Struct, frozen=True, kw_only=True):
    """A test: its name and its body."""

    name: str
    body: str


def right_tests() -> Iterator[WrittenTest]:
    """Yield right tests for exercise_03."""
    for build, oracle, comparison in product(BUILDS, ORACLES, COMPARISONS):
        body = f"{BUILDS[build]}\nexpected = {oracle}(m, x)\n{COMPARISONS[comparison]}"
        yield WrittenTest(name=f"test_{oracle}_{build}_{comparison}", body=body)
    for name, body in PROPERTIES.items():
        yield WrittenTest(name=f"test_{name}", body=body)


def weak_tests() -> Iterator[tuple[WrittenTest, Standing]]:
    """Yield weak tests for exercise_03, each with its standing."""
    for build, ending in product(BUILDS, WEAK_ENDINGS):
        body, standing = WEAK_ENDINGS[ending]
        yield WrittenTest(name=f"test_{build}_{ending}", body=f"{BUILDS[build]}\n{body}"), standing


def trap_of(tests: list[WrittenTest]) -> str:
    """Return the text of a trap with these tests."""
    parts = [HEAD]
    for each in tests:
        fixtures = [name for name in ("capsys", "sizes") if name in each.body]
        arguments = ", ".join(["subject", "gaussian", *fixtures])
        parts.append(f"def {each.name}({arguments}):\n{textwrap.indent(each.body, '    ')}\n")
    return "\n\n".join(parts)
