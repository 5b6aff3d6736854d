"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch


def test_both_results(subject, gaussian):
    m, x, residual = subject(8), gaussian(2, 3, 8), gaussian(2, 3, 8)
    with torch.no_grad():
        normed, stream = m(x, residual)
    expected = x + residual
    assert torch.allclose(stream, expected, atol=1e-6)
    assert torch.allclose(normed, expected / (expected.square().mean(-1, keepdim=True) + 1e-6).sqrt(), atol=1e-5)


def test_squares_that_do_not_fit_into_float16(subject, gaussian):
    m, x = subject(8).half(), (1000 * gaussian(2, 3, 8)).half()
    with torch.no_grad():
        normed, _ = m(x, torch.zeros_like(x))
    long = x.double()
    assert torch.allclose(normed.double(), long / long.square().mean(-1, keepdim=True).sqrt(), atol=1e-2)
