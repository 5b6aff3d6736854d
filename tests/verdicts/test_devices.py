"""The property of moving between devices: whatever a module computes with, its tensors must be where it went."""

import subprocess
import sys

import pytest

from grader.checks.outcome import Outcome, Status
from grader.report.findings import sentence
from tests.support.hostile import reference
from tests.support.judging import Judge
from tests.support.paths import ROOT
from tests.support.sampling import in_parts

MASKING = "        attn_scores = attn_scores.masked_fill(self.causal_mask.bool()[:con_len, :con_len], -torch.inf)\n"
FORWARD = "    def forward(self, x):\n"
HIDDEN = "self.causal_mask.bool()[:con_len, :con_len]"

RIGHT = {
    "where": f"        attn_scores = torch.where({HIDDEN}, -torch.inf, attn_scores)\n",
    "its own device": MASKING.replace("self.causal_mask", "self.causal_mask.to(x.device)"),
    "indices": f"        seen = torch.arange(con_len, device=x.device)\n{MASKING}"
    "        attn_scores = attn_scores.index_select(1, seen)\n",
    "absolute distances": f"        positions = torch.arange(con_len, device=x.device)\n{MASKING}"
    "        attn_scores = attn_scores + 0 * (positions[None] - positions[:, None]).abs()\n",
    "logical not": MASKING.replace("self.causal_mask.bool()", "torch.logical_not(self.causal_mask == 0)"),
    "no nan": f"{MASKING}        attn_scores = attn_scores.nan_to_num(neginf=-torch.inf)\n",
    "layer norm beside it": f"{MASKING}        nn.functional.layer_norm(x, x.shape[-1:])\n",
    "another module moved and given its weights": f"""{MASKING}
        shell = nn.MultiheadAttention(4, 2, batch_first=True).to(x.device)
        weights = dict(nn.MultiheadAttention(4, 2, batch_first=True).to(x.device).named_parameters())
        some = torch.zeros(1, 3, 4, device=x.device)
        torch.func.functional_call(shell, weights, (some, some, some))
""",
    "another way when it fails": f"""
        try:
            attn_scores = torch.where({HIDDEN}, -torch.inf, attn_scores)
        except RuntimeError:
            attn_scores = None
""",
    "a list": f"        longest = max([0, *torch.full((2,), con_len, device=x.device).tolist()])\n{MASKING}"
    "        attn_scores = attn_scores + 0 * longest\n",
    "a copy on the CPU": f"        float(x.detach().cpu().numpy().sum() + x.detach().to('cpu').sum())\n{MASKING}",
    "there and back": MASKING.replace("attn_scores.masked_fill", "attn_scores.cpu().to(x.device).masked_fill"),
    "without a wait": f"        x.detach().to('cpu', non_blocking=True).numpy(force=True)\n{MASKING}",
    "asks what a tensor holds": f"        if not torch.isfinite(x).all():\n            raise ValueError(x)\n{MASKING}",
}
"""How the scores are masked, in ways that torch computes without data, and in ways that it does only in part."""

STAYS = {
    "where": RIGHT["where"].replace("self.causal_mask", "self.mask"),
    "masked_fill": MASKING.replace("self.causal_mask", "self.mask"),
    "made there": "        hidden = torch.ones(con_len, con_len).triu(diagonal=1).bool()\n"
    "        attn_scores = attn_scores.masked_fill(hidden, -torch.inf)\n",
    "added": "        attn_scores = attn_scores + torch.full((con_len, con_len), -torch.inf).triu(diagonal=1)\n",
    "computed on the CPU": MASKING.replace("attn_scores.masked_fill", "attn_scores.cpu().masked_fill"),
    "index": f"{MASKING}        attn_scores = attn_scores.index_select(1, torch.arange(con_len))\n",
}
"""The same with a tensor that stays behind."""


@pytest.mark.slow
@pytest.mark.parametrize("right", in_parts(RIGHT))
def test_a_module_that_takes_everything_along_passes(judge_text: Judge, right: dict[str, str]) -> None:
    texts = {name: reference().replace(MASKING, masking) for name, masking in right.items()}
    assert judge_text.refused("exercise_03", texts) == {}


@pytest.mark.parametrize("stays", in_parts(STAYS, 4))
def test_a_tensor_that_stays_behind_is_named(judge_text: Judge, stays: dict[str, str]) -> None:
    outcomes = moving(judge_text, stays)
    assert {name: each.status for name, each in outcomes.items()} == dict.fromkeys(stays, Status.FAILED)
    assert [name for name, each in outcomes.items() if "stayed behind: mask; " not in sentence(each.finding)] == []


LATE = """
import sys
from pathlib import Path
from grader.processes.worker_source import open_worker_source
source = open_worker_source()

import torch
from grader.spec.loading import load_exercise
from grader.spec.paths import find_course
from grader.checks.proxies import SubjectFactory
from grader.checks.session import Session
from grader.sandbox.probes.devices import call_elsewhere
from grader.submission import submission_from_text

exercise = load_exercise(find_course(Path.cwd()).description("exercise_03"))
session = Session(source, exercise, submission_from_text(sys.stdin.read()))
session.begin_check(has_full_time=True)
sizes = {"input_dim": 4, "output_dim": 6, "context_length": 8, "dropout": 0.0}
module = SubjectFactory(session).build(sizes, at_once=False)
print(module.run_probe(call_elsewhere, {"x": torch.randn(2, 3, 4)})[1], module.attribute("late"))
session.close()
source.close()
"""
"""In a process of its own: where torch was imported before, nothing of it is late."""


def test_the_probe_does_without_what_torch_imports_late() -> None:
    looking = f"{FORWARD}        self.late = 'torch._prims' in sys.modules\n"
    text = "import sys\n" + reference().replace(FORWARD, looking)
    command = [sys.executable, "-W", "ignore", "-c", LATE]
    done = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['meta'] False\n", "")


def test_a_tensor_that_stays_behind_cannot_be_hidden_by_catching_torchs_error(judge_text: Judge) -> None:
    caught = "\n".join(f"    {line}" if line else "" for line in STAYS["where"].split("\n")).rstrip()
    masking = f"        try:\n{caught}\n        except NotImplementedError:\n            pass\n"
    assert moving(judge_text, {"caught": masking})["caught"].status is Status.FAILED


def moving(judge_text: Judge, maskings: dict[str, str]) -> dict[str, Outcome]:
    """The outcomes of the check of moving, for modules whose mask is an attribute of its own beside the buffer."""
    mask = "        self.mask = torch.ones(context_length, context_length).triu(diagonal=1)\n\n"
    texts = [reference().replace(FORWARD, mask + FORWARD).replace(MASKING, each) for each in maskings.values()]
    verdicts = judge_text.many("exercise_03", texts)
    assert [verdict.reason for verdict in verdicts] == [None] * len(texts)
    return {
        name: each
        for name, verdict in zip(maskings, verdicts, strict=True)
        for each in verdict.checks
        if each.check == "moves_between_devices"
    }
