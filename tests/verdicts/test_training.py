"""What uses more of torch than a forward pass: optimizers, the compiler, checkpointing. A worker can write nothing."""

import pytest

from tests.support.hostile import reference
from tests.support.judging import Judge

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

FORWARD = "    def forward("
COMPILING = (
    "    @torch.compile\n",
    "    @torch.compile(fullgraph=True, backend='eager')\n",
    "    @torch.compiler.disable\n",
    "    @torch.compiler.disable(recursive=False)\n",
)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
def test_a_right_fix_that_trains_while_it_is_loaded_gets_everything(judge_text: Judge, optimizer: str) -> None:
    assert_gets_everything(judge_text, reference() + TRAINING.format(optimizer=optimizer))


@pytest.mark.parametrize("decorator", COMPILING)
def test_a_right_fix_that_compiles_gets_everything(judge_text: Judge, decorator: str) -> None:
    assert_gets_everything(judge_text, reference().replace(FORWARD, decorator + FORWARD))


def test_a_right_fix_that_sets_the_compiler_gets_everything(judge_text: Judge) -> None:
    settings = "import torch._dynamo\ntorch._dynamo.config.suppress_errors = True\ntorch._dynamo.reset()\n"
    assert_gets_everything(judge_text, settings + reference())


@pytest.mark.parametrize("is_reentrant", [True, False])
def test_a_right_fix_with_checkpoints_gets_everything(judge_text: Judge, is_reentrant: bool) -> None:
    call = f"torch.utils.checkpoint.checkpoint(self._inner, x, use_reentrant={is_reentrant})"
    outer = f"    def forward(self, x):\n        return {call}\n\n    def _inner("
    text = "import torch.utils.checkpoint\n" + reference().replace(FORWARD, outer)
    assert_gets_everything(judge_text, text)


def assert_gets_everything(judge_text: Judge, text: str) -> None:
    verdict = judge_text("exercise_03", text)
    assert (verdict.reason, verdict.score) == (None, verdict.max_score)
