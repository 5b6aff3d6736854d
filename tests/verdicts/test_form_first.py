"""Every check reports a value of another form than the interface's as such, never as wrong numbers."""

import re

import pytest

from grader.spec.paths import Course
from grader.verdict.verdict import Result
from tests.support.judging import Judge
from tests.support.paths import ROOT
from tests.support.sampling import sampled, share

EXERCISES = [f"exercise_{number:02}" for number in range(1, 17)]
PAIRS = ("exercise_01", "exercise_04")
FORMS = {
    "nothing": "None",
    "a number": "0.5",
    "a text": "'done'",
    "a dict": "{'output': value}",
    "numbers of their own": "first.tolist()",
    "one too many": "(*values, first)",
    "none at all": "()",
    "a list in a list": "[[first]]",
    "other axes": "tuple(each.transpose(0, -1) for each in values) if len(values) > 1 else first.transpose(0, -1)",
    "an axis too many": "tuple(each[None] for each in values) if len(values) > 1 else first[None]",
    "a mean": "tuple(each.mean() for each in values) if len(values) > 1 else first.mean()",
    "whole numbers": "tuple(each.long() for each in values) if len(values) > 1 else first.long()",
    "half": "tuple(each.half() for each in values) if len(values) > 1 else first.half()",
    "complex": "tuple(each.cfloat() for each in values) if len(values) > 1 else first.cfloat()",
}
OF_PAIRS = {
    "the first alone": "first",
    "the second alone": "values[1]",
    "swapped": "values[::-1]",
    "the first twice": "(first, first)",
    "the second left out": "(first, None)",
    "the second as a list": "(first, values[1].tolist())",
}
TOLD_AS_FORM = {"type", "shape", "dtype"}
WRAPPED = """

_forward = {entry}.forward


def _formed(self, *arguments, **keywords):
    value = _forward(self, *arguments, **keywords)
    values = value if isinstance(value, tuple) else (value,)
    first = values[0]
    return {form}


{entry}.forward = _formed
"""


@pytest.mark.parametrize("exercise_id", sampled(EXERCISES))
def test_a_wrong_form_is_reported_as_a_wrong_form(judge_text: Judge, exercise_id: str) -> None:
    source = (Course(root=ROOT).reference(exercise_id)).read_text(encoding="utf-8")
    description = (ROOT / "solutions" / exercise_id / "exercise.yaml").read_text(encoding="utf-8")
    entry = re.search(r"^  class: (\w+)", description, re.MULTILINE)
    assert entry
    forms = share(FORMS, exercise_id, 3) | (OF_PAIRS if exercise_id in PAIRS else {})
    texts = [source + WRAPPED.format(entry=entry[1], form=form) for form in forms.values()]
    told_otherwise = {}
    for name, verdict in zip(forms, judge_text.many(exercise_id, texts), strict=True):
        assert verdict.outcome is Result.NOT_FIXED, name
        kinds = {outcome.check: outcome.finding.kind for outcome in verdict.checks if outcome.finding}
        other = {check: kind for check, kind in kinds.items() if kind not in TOLD_AS_FORM}
        told_otherwise |= {name: other} if other else {}
    assert told_otherwise == {}
