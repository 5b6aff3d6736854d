"""Top-level imports of submissions: plots and progress bars do nothing; a missing library fails only on use."""

import pytest

from grader.report.findings import sentence
from grader.verdict.verdict import Result
from tests.support.hostile import reference
from tests.support.judging import Judge

UNUSED = (
    "import pandas as pd",
    "import einops",
    "from einops import rearrange, repeat",
    "from einops.layers.torch import Rearrange",
    "import torchvision.transforms as transforms",
    "import matplotlib",
    "import seaborn as sns, tqdm, IPython",
    "from torch.utils.tensorboard import SummaryWriter",
    "from torch.utils.tensorboard.writer import SummaryWriter",
    "from PIL import Image",
    "import pytorch_lightning as pl",
    "from flash_attn import flash_attn_func",
)

DRAWING = {
    "a plot": "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(3, 4))\nline, = ax.plot([1, 2])\n"
    "ax.spines['top'].set_visible(False)\nplt.savefig('loss.png')\nplt.show()",
    "many axes": "from matplotlib import pyplot as plt\nfig, axes = plt.subplots(2, 3)\n"
    "for ax in axes.flat: ax.imshow([[1]])\n"
    "(a, b), = [plt.subplots(1, 2)[1]]\na.hist([1])\ncounts, edges, _ = plt.hist([1, 2])",
    "progress": "from tqdm import tqdm, trange\nassert list(tqdm(range(3), desc='x')) == [0, 1, 2] == list(trange(3))\n"
    "with tqdm(total=2) as bar: bar.update(1)\nfor i in (bar := tqdm([7])): bar.set_postfix(loss=i)",
    "progress in a notebook": "from tqdm.auto import tqdm\nassert [*tqdm([1])] == [1]\n"
    "import tqdm\nassert [*tqdm.tqdm([1])] == [1]",
    "a record": "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter('runs')\n"
    "writer.add_scalar('loss', 1.0, 0)\nwriter.close()\nfrom loguru import logger\nlogger.info('loaded')\n"
    "@logger.catch\ndef four(): return 4\nassert four() == 4",
    "types": "from typing import Optional\nfrom beartype import beartype\nfrom jaxtyping import Float, Int, jaxtyped\n"
    "@jaxtyped(typechecker=beartype)\ndef five(x: Float[torch.Tensor, 'b t'], y: Int[torch.Tensor, ''] | None = None,\n"
    "         z: Optional[Float[torch.Tensor, '...']] = None) -> tuple[Float[torch.Tensor, 'b'], ...]: return 5\n"
    "assert five(1) == 5\n@beartype\ndef six(x): return 6\nassert six(1) == 6",
    "display": "from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))",
}


def together_or_alone(texts: dict[str, str]) -> list[object]:
    """All of them in one submission, and slowly each in one of its own."""
    together = {"together": "\n".join(texts.values())}
    return [pytest.param(together, id="together"), pytest.param(texts, id="alone", marks=[pytest.mark.slow])]


@pytest.mark.parametrize("lines", together_or_alone({line: line for line in UNUSED}))
def test_an_import_that_nothing_uses_changes_no_verdict(judge_text: Judge, lines: dict[str, str]) -> None:
    texts = {name: f"{imports}\n{reference()}" for name, imports in lines.items()}
    assert judge_text.refused("exercise_03", texts) == {}


@pytest.mark.parametrize("drawing", together_or_alone(DRAWING))
def test_a_demonstration_draws_nothing_and_changes_no_verdict(judge_text: Judge, drawing: dict[str, str]) -> None:
    texts = {name: f"{reference()}\n{lines}\n" for name, lines in drawing.items()}
    assert judge_text.refused("exercise_03", texts) == {}


def test_a_module_knows_the_name_of_its_file(judge_text: Judge) -> None:
    named = "from pathlib import Path\nassert Path(__file__).stem == 'attention' == __name__\n"
    assert judge_text.refused("exercise_03", {"its file": named + reference()}) == {}


def test_a_missing_library_is_reported_where_it_is_used(judge_text: Judge) -> None:
    text = "from einops import rearrange\n" + reference().replace(
        "        return ", "        rearrange(x, 'b t d -> t b d')\n        return ", 1
    )
    crash = judge_text("exercise_03", text).checks[0].finding
    assert crash is not None
    assert sentence(crash).startswith(
        "ModuleNotFoundError: No module named 'einops': it is not installed here; submissions"
    )
    assert crash.location is not None
    assert "rearrange(" in crash.location.text


def test_an_import_with_a_fallback_uses_the_fallback(judge_text: Judge) -> None:
    way = "try:\n    from einops import rearrange\nexcept ImportError:\n    other = 1\nassert other\n"
    verdict = judge_text("exercise_03", way + reference())
    assert (verdict.reason, verdict.score) == (None, verdict.max_score)


def test_a_library_that_nobody_knows_is_missing_at_its_import(judge_text: Judge) -> None:
    verdict = judge_text("exercise_03", f"import torhc\n{reference()}")
    assert verdict.outcome is Result.NOT_GRADABLE
    assert "No module named 'torhc'" in (verdict.reason or "")
