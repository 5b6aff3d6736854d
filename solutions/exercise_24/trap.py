"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch


def test_rows_do_not_affect_each_other(subject, gaussian):
    m, x = subject(8, 2, 6).eval(), gaussian(4, 5, 8)
    alone = torch.cat([m(row[None]) for row in x])
    assert torch.allclose(m(x), alone, atol=1e-5)


def test_places_count_along_the_fields(subject, gaussian):
    m, x = subject(8, 2, 6).eval(), gaussian(1, 1, 8)
    two = x.expand(1, 2, 8)
    assert not torch.allclose(m(two)[:, 0], m(two)[:, 1], atol=1e-3)


def test_the_number_of_rows_does_not_matter(subject, gaussian):
    m, x = subject(8, 2, 3).eval(), gaussian(7, 3, 8)
    assert torch.allclose(m(x)[:2], m(x[:2]), atol=1e-5)


def test_the_fields_of_a_row_look_at_each_other(subject, gaussian):
    m, x = subject(8, 2, 6).eval(), gaussian(1, 5, 8)
    y = x.clone()
    y[:, 4] = gaussian(1, 8)
    assert not torch.allclose(m(x)[:, 0], m(y)[:, 0], atol=1e-3)
