"""Probes are files that linters and debuggers see, and are found by the names that travel to a worker."""

import ast
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from grader.sandbox.probes import PROBES, name_of, probe_named
from grader.sandbox.probes.dropout import response, slopes
from grader.sandbox.subject import Subject
from grader.spec.kinds import KINDS
from tests.support.paths import ROOT

KIT = ROOT / "grader"

DEFINES = re.compile(r"^\s*(def|class) \w+.*:", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(KIT.rglob("*.py")), ids=lambda path: str(path.relative_to(KIT)))
def test_no_module_keeps_python_in_a_string(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert [text for text in texts if DEFINES.search(text) and "\n" in text] == []


def test_a_probe_function_is_found_by_its_name() -> None:
    assert name_of(response) == "dropout.response"
    assert probe_named("dropout.response") is response


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.adapter], ids=lambda kind: kind.adapter)
def test_each_kind_that_is_no_module_has_an_adapter(kind) -> None:
    assert "Adapter" in vars(PROBES[kind.adapter])


class Weighted(nn.Module):
    """A softmax in float32, as in models for half precision, and dropout, which a wrong gradient ignores."""

    def __init__(self, *, is_right: bool) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.3)
        self.is_right = is_right

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(x @ x.transpose(1, 2) / 30, dim=-1, dtype=torch.float32).to(x.dtype)
        dropped = self.dropout(weights)
        return (dropped if self.is_right else weights + (dropped - weights).detach()) @ x


@pytest.mark.parametrize("is_right", [True, False])
def test_slopes_agree_where_a_part_is_computed_in_float32_and_never_with_a_wrong_gradient(is_right: bool) -> None:
    module = Weighted(is_right=is_right)
    subject = Subject(module=module, build=Weighted, arguments={})
    for seed in range(40):
        torch.manual_seed(seed)
        rises, found = slopes(subject, {"x": torch.randn(2, 5, 7)}, most=6, enough=2, steepness=1e-2)
        agree = (rises - found).abs() <= 1e-2 * rises.abs()
        assert (int(agree.sum()) >= 2) == is_right
