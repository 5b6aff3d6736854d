"""Submissions that use optimizers, the compiler or checkpoints. A worker can write nothing."""

import pytest

from tests.support.hostile import reference
from tests.support.judging import Judge
from tests.support.sampling import in_parts

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


def test_a_right_fix_that_trains_while_it_is_loaded_gets_everything(judge_text: Judge) -> None:
    texts = {name: reference() + TRAINING.format(optimizer=name) for name in ("SGD", "Adam", "AdamW")}
    assert judge_text.refused("exercise_03", texts) == {}


@pytest.mark.slow
def test_a_right_fix_that_compiles_or_sets_the_compiler_gets_everything(judge_text: Judge) -> None:
    texts = {decorator: reference().replace(FORWARD, decorator + FORWARD) for decorator in COMPILING}
    texts["keyword"] = (
        f"{reference()}\nCausalSelfAttention.forward = torch.compile(model=CausalSelfAttention.forward)\n"
    )
    settings = "import torch._dynamo\ntorch._dynamo.config.suppress_errors = True\ntorch._dynamo.reset()\n"
    assert judge_text.refused("exercise_03", texts | {"settings": settings + reference()}) == {}


def with_checkpoint(*, is_reentrant: bool) -> str:
    call = f"torch.utils.checkpoint.checkpoint(self._inner, x, use_reentrant={is_reentrant})"
    outer = f"    def forward(self, x):\n        return {call}\n\n    def _inner("
    return "import torch.utils.checkpoint\n" + reference().replace(FORWARD, outer)


def test_a_right_fix_with_a_checkpoint_gets_everything(judge_text: Judge) -> None:
    texts = {f"reentrant: {is_reentrant}": with_checkpoint(is_reentrant=is_reentrant) for is_reentrant in (False, True)}
    assert judge_text.refused("exercise_03", texts) == {}


SWITCHES = (
    "torch.use_deterministic_algorithms(True)",
    "torch.use_deterministic_algorithms(True, warn_only=True)",
    "torch.set_deterministic_debug_mode('warn')",
    "torch.set_float32_matmul_precision('high')",
    "torch.set_default_device('cpu')",
    "torch.set_default_dtype(torch.get_default_dtype())",
    "torch.set_flush_denormal(True)",
    "torch.set_num_threads(1)",
    "torch.set_printoptions(precision=3)",
    "torch.set_warn_always(True)",
    "torch.set_anomaly_enabled(True)",
    "torch.autograd.set_detect_anomaly(True)",
    "torch.manual_seed(0); torch.cuda.manual_seed_all(0); torch.mps.manual_seed",
    "torch.set_rng_state(torch.get_rng_state())",
    "torch.backends.cudnn.deterministic = True; torch.backends.cudnn.benchmark = False",
    "torch.backends.cuda.matmul.allow_tf32 = True; torch.backends.cudnn.allow_tf32 = True",
    "torch.backends.cuda.enable_flash_sdp(False); torch.backends.cuda.enable_mem_efficient_sdp(False)",
    "torch.backends.mha.set_fastpath_enabled(False)",
    "torch.backends.mkldnn.enabled = False; torch.backends.opt_einsum.enabled = False",
    "torch.compiler.set_stance('force_eager'); torch.compiler.reset()",
    "import torch._inductor.config; torch._inductor.config.triton.cudagraphs = False",
    "torch._logging.set_logs()",
    "torch.sparse.check_sparse_tensor_invariants.enable()",
    "torch.multiprocessing.set_sharing_strategy('file_system')",
    "torch.compiler.is_compiling() and 1 / 0; torch._dynamo.is_compiling() and 1 / 0",
)


@pytest.mark.slow
@pytest.mark.parametrize("switches", in_parts({switch: switch for switch in SWITCHES}, 10))
def test_a_right_fix_that_turns_a_switch_of_torch_gets_everything(judge_text: Judge, switches: dict[str, str]) -> None:
    texts = {switch: f"import torch\n{switch}\n{reference()}" for switch in switches}
    assert judge_text.refused("exercise_03", texts) == {}


DEMONSTRATIONS = {
    "a tensor on the meta device": "torch.where(torch.ones(2, 2, device=DEVICE) > 0, 1.0, 0.0).flip(0).cumsum(0)",
    "moved there": "nn.functional.scaled_dot_product_attention(*[torch.randn(1, 2, 3, 4).to(DEVICE)] * 3)",
    "built there": "nn.TransformerEncoderLayer(8, 2, device=DEVICE)(torch.randn(2, 3, 8, device=DEVICE))",
    "by default": "torch.set_default_device(DEVICE); nn.TransformerEncoderLayer(8, 2)(torch.randn(2, 3, 8))"
    "; torch.set_default_device('cpu')",
    "backward there": "torch.ones(3, device=DEVICE, requires_grad=True).cumsum(0).sum().backward()",
    "indices": "torch.tril_indices(3, 3, device=DEVICE)",
    "a generator": "torch.rand(3, generator=torch.Generator().manual_seed(3))",
    "a data loader": "from torch.utils import data\n"
    "[*data.DataLoader(data.TensorDataset(torch.rand(4)), shuffle=True)]",
    "gradients as functions": "torch.func.grad(lambda x: (x**2).sum())(torch.ones(3))\n"
    "torch.func.jacrev(torch.exp)(torch.ones(3))",
    "vectorized": "torch.vmap(torch.sum)(torch.ones(2, 3))",
    "a condition": "torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.ones(1),))",
    "exported names": "torch.export.export",
}
"""What runs beside a right fix while it is loaded, and needs a part of torch that is not imported yet."""


@pytest.mark.parametrize("demonstrations", in_parts(DEMONSTRATIONS, 6))
def test_a_right_fix_that_needs_all_of_torch_gets_everything(judge_text: Judge, demonstrations: dict[str, str]) -> None:
    beside = "{0}\n\nDEVICE = 'me' + 'ta'\n{1}\n"
    texts = {name: beside.format(reference(), lines) for name, lines in demonstrations.items()}
    assert judge_text.refused("exercise_03", texts) == {}
