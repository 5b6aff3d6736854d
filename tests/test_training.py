"""A submission may train on its way: optimizers work in a worker, where torch's compiler can write nothing."""

import pytest
from hostile import reference
from judging import Judge

TRAINING = """

model = CausalSelfAttention(4, 6, 8, 0.0)
optimizer = torch.optim.{optimizer}(model.parameters(), lr=0.1)
before = model.W_key.weight.detach().clone()
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(1, 3, 4)).square().sum().backward()
    optimizer.step()
assert not torch.equal(model.W_key.weight, before)
"""


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
def test_a_right_fix_that_trains_while_it_is_loaded_gets_everything(judge_text: Judge, optimizer: str) -> None:
    verdict = judge_text("exercise_03", reference() + TRAINING.format(optimizer=optimizer))
    assert (verdict.reason, verdict.score) == (None, verdict.max_score)
