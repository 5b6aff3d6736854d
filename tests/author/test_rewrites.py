"""Rewrites of a reference keep its values, and equivalent mutants are recognised."""

import ast

import pytest

from grader.author.mutants import Mutant, is_same_in_other_words
from grader.author.rewrites import RULES, rewrite, rewrites_of

SOURCE = '''\
import math
import torch
from torch import nn


class Attention(nn.Module):
    """Attends."""

    def __init__(self, width):
        super().__init__()
        assert width > 1, "too narrow"
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)

    def forward(self, x, mask):
        q = self.q(x).view(x.shape[0], -1, 4).contiguous().view(x.shape[0], 4, -1)
        scores = torch.matmul(q, self.k(x).transpose(1, 2)) / math.sqrt(4)
        scores = scores.masked_fill(mask, -1e9)
        late = self.k(self.q(x))
        return torch.softmax(scores, dim=-1) @ x + late
'''

EXPECTED = {
    "einsum for matmul": "torch.einsum('...ij,...jk->...ik', torch.softmax(scores, dim=-1), x) + late",
    "matmul for @": "torch.matmul(torch.softmax(scores, dim=-1), x) + late",
    "reshape for view": "self.q(x).reshape(x.shape[0], -1, 4).contiguous().reshape(x.shape[0], 4, -1)",
    "no contiguous": "self.q(x).view(x.shape[0], -1, 4).reshape(x.shape[0], 4, -1)",
    "swapaxes for transpose": "torch.swapaxes(self.k(x), 1, 2)",
    "softmax of logarithms": "torch.exp(torch.nn.functional.log_softmax(scores, dim=-1))",
    "softmax as a method": "scores.softmax(dim=-1)",
    "fused attention": "torch.nn.functional.scaled_dot_product_attention(",
    "where for masked_fill": "torch.where(mask, scores.new_tensor(-1000000000.0), scores)",
    "power for root": "/ 4 ** 0.5",
    "product for quotient": "* (1.0 / math.sqrt(4))",
    "size for shape": "view(x.size(0), -1, 4)",
    "keywords": "nn.Linear(in_features=width, out_features=width)",
    "functional linear": "torch.nn.functional.linear(x, self.k.weight, self.k.bias)",
    "locals renamed": "scores_here = scores_here.masked_fill(mask, -1000000000.0)",
    "returned by name": "return result_here",
    "argument by name": "inner_here = self.q(x)",
    "layers in another order": "self.k = nn.Linear(width, width)\n        self.q =",
    "forward through a helper": "return self._forward_here(x, mask)",
    "base called by name": "nn.Module.__init__(self)",
    "raise for assert": "if not width > 1:\n            raise AssertionError('too narrow')",
    "inputs copied": "x = x.clone() if isinstance(x, torch.Tensor) else x",
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_keeps_the_meaning(rule: str) -> None:
    assert EXPECTED[rule] not in SOURCE
    assert EXPECTED[rule] in rewrite(SOURCE, (rule,))


def test_rewrites_are_all_different_and_none_is_the_source() -> None:
    found = rewrites_of(SOURCE)
    trees = {ast.dump(ast.parse(each.text)) for each in found}
    assert len(trees) == len(found) == len(RULES) + 1
    assert ast.dump(ast.parse(SOURCE)) not in trees
    assert "+        return torch.softmax" not in found[0].diff()
    assert found[0].diff().count("\n+") == 2


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ("f(a, bias=False)", "f(a, bias=None)", True),
        ("f(a, bias=True)", "f(a, bias=None)", False),
        ("x.transpose(-2, -1)", "x.transpose(+2, -1)", True),
        ("x.transpose(-2, -1)", "x.transpose(2, 1)", False),
        ("x.sum(2)", "x.sum(-1)", True),
        ("x.sum(2)", "x.sum(1)", False),
        ("s.masked_fill(m, 0)", "s.masked_fill_(m, 0)", True),
        ("s * c", "s.mul_(c)", True),
        ("s * c", "s + c", False),
        ("x.argsort(dim=-1)", "x.argsort()", True),
        ("x.argsort(-1)", "x.argsort()", False),
        ("x + 1", "x", False),
    ],
)
def test_rewrites_that_change_values_are_distinguished_from_equivalent_ones(
    before: str, after: str, is_same: bool
) -> None:
    assert (
        is_same_in_other_words(f"y = {before}\n", Mutant(operator="", line=1, diff="", text=f"y = {after}\n"))
        is is_same
    )
