"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest
import torch


def inputs(gaussian, queries=3, keys=4, batch=2):
    return {"query": gaussian(queries, batch, 8), "key": gaussian(keys, batch, 8), "value": gaussian(keys, batch, 8)}


def test_no_bias_where_none_is_wanted(subject):
    names = dict(subject(2, 8, bias=False).named_parameters())
    assert sorted(names) == ["key.linear.weight", "output.bias", "output.weight", "query.linear.weight", "value.linear.weight"]


def test_heads_that_do_not_divide_are_refused(subject):
    with pytest.raises((ValueError, AssertionError)):
        subject(3, 8)


def test_the_scores_of_a_subclass_stay_as_they_were(subject, gaussian):
    m = subject(2, 8, dropout_prob=0.0)
    scores = gaussian(3, 4, 2, 2)
    before = scores.clone()
    m.get_scores = lambda query, key: scores
    m(**inputs(gaussian))
    assert torch.equal(scores, before)


def test_the_kept_weights_are_those_of_the_softmax(subject, gaussian):
    m = subject(2, 8, dropout_prob=0.8).train()
    m(**inputs(gaussian, keys=6))
    assert torch.allclose(m.attn.sum(1), torch.ones(3, 2, 2), atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 4), (1, 3, 4, 2), (3, 5, 2)])
def test_a_mask_in_another_layout_is_refused(subject, gaussian, shape):
    m = subject(2, 8, dropout_prob=0.0)
    with pytest.raises((ValueError, AssertionError), match=str(shape[0])):
        m(**inputs(gaussian), mask=torch.ones(shape))
