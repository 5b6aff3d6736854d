"""A reference may return a named tuple or a dictionary: values, shapes and gradients are compared as of a tuple."""

import pytest

from grader.report.findings import sentence
from grader.spec.paths import Course
from grader.verdict.verdict import Result
from tests.support.judging import Judge
from tests.support.sampling import others_slow

EXERCISE = "exercise_60"
DESCRIPTION = """\
format_version: 1
title: A hunt
difficulty: 1
source: {title: a notebook}
story: Once upon a time.
interface:
  class: Attention
  constructor: {width: width}
  inputs: {x: [batch, tokens, width]}
  outputs: [[batch, tokens, width], [batch, tokens, tokens]]
sizes: [{batch: 2, tokens: 5, width: 7}]
defects:
  - {id: first, title: the first, points: 7, was: dim=-2, fix: dim=-1, hints: [a, b, c], why: because}
nothing_else_broke: 3
checks:
  - property: matches_reference
  - property: returns_shapes
  - {property: rows_sum_to_one, output: 1}
  - property: every_parameter_learns
  - property: moves_between_devices
  - property: keeps_dtype
"""
REFERENCE = """\
from typing import NamedTuple

import torch


class Attended(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor


class Attention(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = torch.nn.Linear(width, width)

    def forward(self, x):
        weights = torch.softmax(x @ self.project(x).mT, dim=-1)
        return RETURNED
"""
FORMS = {
    "named tuple": ("Attended(weights @ x, weights)", "(weights @ x, weights)"),
    "dictionary": ('{"a": weights @ x, "b": weights}', '{"b": weights, "a": weights @ x}'),
}
"""What a reference returns, and another right way to return it."""


@pytest.fixture(params=others_slow(FORMS))
def form(request, tmp_path):
    """A judge of an exercise whose reference returns its outputs in a form, and the two right ways."""
    course = Course(root=tmp_path)
    returned = FORMS[request.param]
    reference, other = (REFERENCE.replace("RETURNED", each) for each in returned)
    starter = reference.replace("dim=-1", "dim=-2")
    module, _ = course.editable_files(EXERCISE)
    texts = {module: starter, course.pristine(module): starter, course.reference(EXERCISE): reference}
    texts[course.root / "solutions" / EXERCISE / "exercise.yaml"] = DESCRIPTION
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    judge = Judge(course)
    yield judge, reference, other
    judge.close()


@pytest.mark.slow
def test_right_outputs_pass_in_every_order_and_wrong_values_fail(form):
    judge, reference, other = form
    starter = reference.replace("dim=-1", "dim=-2")
    for verdict in judge.many(EXERCISE, [reference, other]):
        assert (verdict.outcome, [each.finding for each in verdict.checks if each.finding]) == (Result.FIXED, [])
    assert judge(EXERCISE, starter).outcome is Result.NOT_FIXED


def test_an_output_without_its_gradient_fails(form):
    judge, reference, _ = form
    verdict = judge(EXERCISE, reference.replace("weights @ x", "weights.detach() @ x"))
    [finding] = [sentence(each.finding) for each in verdict.checks if each.check == "matches_reference"]
    assert "gradient" in finding
