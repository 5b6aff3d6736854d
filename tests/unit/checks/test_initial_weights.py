"""`initial_weights`: the mean, the spread and the zeros of new modules' parameters."""

from pathlib import Path

import pytest

from grader.report.findings import sentence
from grader.spec.paths import Course
from grader.verdict.verdict import Result
from tests.support.judging import Judge

REFERENCE = """import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, 3 * width)
        self.out = nn.Linear(3 * width, width, bias=True)
        nn.init.normal_(self.inner.weight, std=0.02)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.out(self.inner(x)) * self.gain
"""
DESCRIPTION = """format_version: 1
title: A hunt
difficulty: 1
source: {title: a notebook}
story: Once upon a time.
interface:
  class: Head
  constructor: {width: width}
  inputs: {x: [batch, width]}
  outputs:
    - [batch, width]
sizes: [{batch: 2, width: 5}, {batch: 3, width: 12}]
defects: []
decoy: the gain
nothing_else_broke: 10
checks:
  - {property: matches_reference}
  - {property: initial_weights}
"""
WRONG = {
    "std=0.02": ("std=0.04", "inner.weight in 16 new modules: expected a spread near 0.0"),
    "        nn.init.normal_(self.inner.weight, std=0.02)\n": ("", "inner.weight in 16 new modules: expected a spread"),
    "        nn.init.zeros_(self.out.weight)\n": ("", "out.weight in 16 new modules: expected "),
    "        nn.init.zeros_(self.out.bias)\n": ("", "out.bias in 16 new modules: expected 5 zeros"),
    "torch.ones(width)": ("torch.full((width,), 0.5)", "gain in 16 new modules: expected a mean near 1, got 0.5"),
    "nn.init.normal_(self.inner.weight, std=0.02)": (
        "nn.init.constant_(self.inner.weight, torch.nan)",
        "inner.weight in 16 new modules: expected finite numbers",
    ),
    "nn.init.normal_(self.inner.weight, std": (
        "nn.init.normal_(self.inner.weight, 0.03, std",
        "inner.weight in 16 new modules: expected a mean near",
    ),
}
SEEDS = 30


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    root: Path = tmp_path_factory.mktemp("initial")
    course = Course(root=root)
    module = course.exercise_folder("exercise_61") / "attention.py"
    texts = {module: REFERENCE, course.pristine(module): REFERENCE, course.reference("exercise_61"): REFERENCE}
    for path, text in {**texts, root / "solutions/exercise_61/exercise.yaml": DESCRIPTION}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    judge = Judge(course)
    yield judge
    judge.close()


@pytest.mark.slow
def test_the_same_initialisation_passes_at_every_seed(judge):
    rescaled = REFERENCE.replace(
        "nn.init.normal_(self.inner.weight, std=0.02)", "self.inner.weight.data.normal_().mul_(0.02)"
    )
    for seed in range(SEEDS):
        for text in (REFERENCE, rescaled):
            verdict = judge("exercise_61", text, seed)
            assert verdict.outcome is Result.FIXED, [str(check.finding) for check in verdict.checks if check.finding]


@pytest.mark.parametrize("before", WRONG)
def test_another_mean_spread_or_zero_is_reported_with_its_parameter(judge, before):
    after, expected = WRONG[before]
    assert REFERENCE.count(before) == 1
    for seed in (7, 81_423, 99):
        verdict = judge("exercise_61", REFERENCE.replace(before, after), seed)
        [text] = [sentence(check.finding) for check in verdict.checks if check.finding]
        assert expected in text
