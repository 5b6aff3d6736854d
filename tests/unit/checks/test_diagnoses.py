"""Classic diagnoses of wrong values: each is found where it holds, and none is told where it does not."""

import re

import pytest
import torch

from grader.checks.compare import require_close
from grader.checks.diagnoses import diagnose
from grader.checks.failure import Failure
from grader.checks.outcome import Diagnosis, DiagnosisKind
from grader.checks.tolerances import FLOAT32
from grader.report.findings import diagnosis_words, sentence
from grader.submission import submission_from_text
from grader.verdict.judge import open_judge
from tests.support.forgetting import forget_descriptions

B, T, E = 3, 5, 12


@pytest.fixture
def expected():
    return torch.randn(B, T, E, generator=torch.Generator().manual_seed(3))


ROWS = torch.tensor([2.0, 0.5, 1.5])[:, None, None]
VECTOR = torch.arange(1.0, E + 1)

CLASSICS = {
    "every element is 0": torch.zeros_like,
    "every element is 2.45 times what was expected": lambda x: 2.449 * x,
    "every element is -1 times what was expected": lambda x: -x,
    "along axis 1 the right values are in another order: 1, 2, 3, 4, 0": lambda x: x.roll(-1, 1),
    "the values do not vary along axis 1, although they should": lambda x: x.mean(1, keepdim=True).expand_as(x),
    "the last axis is interleaved: it takes one feature from each of 3 blocks in turn": lambda x: (
        x.view(B, T, 3, 4).transpose(2, 3).reshape(B, T, E)
    ),
    "each row equals the expected row plus one vector, the same for all rows": lambda x: x + VECTOR,
    "each row equals the expected row times a factor that differs from row to row, from 0.5 to 2": lambda x: x * ROWS,
    "12 elements are 0 and the others are right": lambda x: (
        torch.cat([torch.zeros_like(x[:, :1, :4]), x[:, :1, 4:]], 2)
        if x.size(1) == 1
        else torch.cat([torch.cat([torch.zeros_like(x[:, :1, :4]), x[:, :1, 4:]], 2), x[:, 1:]], 1)
    ),
}


@pytest.mark.parametrize("words", CLASSICS)
def test_a_diagnosis_is_given_if_it_holds_and_not_with_noise(expected, words):
    seen = CLASSICS[words](expected)
    assert diagnosis_words(diagnose(seen, expected, FLOAT32.relative, FLOAT32.absolute)) == words
    noise = 0.05 * torch.randn(seen.shape, generator=torch.Generator().manual_seed(5))
    assert diagnose(seen + noise, expected, FLOAT32.relative, FLOAT32.absolute) is None


def test_a_change_of_one_element_is_no_vector_and_no_factor_for_every_row():
    expected = 1e-4 * torch.randn(8, 2, generator=torch.Generator().manual_seed(4)).double() + 1.0
    observed = expected + 1e-4  # within the tolerance everywhere
    observed[3, 1] += 3e-5
    assert (~torch.isclose(observed, expected, FLOAT32.relative, FLOAT32.absolute)).sum() == 1
    assert diagnose(observed, expected, FLOAT32.relative, FLOAT32.absolute) is None


def test_exchanged_axes_are_named():
    expected = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(1))
    diagnosis = diagnose(expected.transpose(1, 2), expected, FLOAT32.relative, FLOAT32.absolute)
    assert diagnosis_words(diagnosis) == "axes 1 and 2 of the expected values are exchanged"


def test_unrelated_values_few_numbers_and_what_is_not_finite_get_no_diagnosis(expected):
    for seed in range(50):
        other = torch.randn(expected.shape, generator=torch.Generator().manual_seed(100 + seed))
        assert diagnose(other, expected, FLOAT32.relative, FLOAT32.absolute) is None
    assert diagnose(2 * expected[0, 0, :4], expected[0, 0, :4], FLOAT32.relative, FLOAT32.absolute) is None
    assert diagnose(expected * torch.inf, expected, FLOAT32.relative, FLOAT32.absolute) is None


def test_a_failure_carries_its_diagnosis_and_its_sentence_does_not(expected):
    with pytest.raises(Failure) as caught:
        require_close(3 * expected, expected, "output", FLOAT32)
    finding = caught.value.finding
    assert re.fullmatch(r"output at .*: expected .*; 180 of 180 elements are off", sentence(finding))
    assert finding.diagnosis.kind is DiagnosisKind.ONE_FACTOR
    assert finding.diagnosis.numbers == [pytest.approx(3)]


@pytest.mark.slow
def test_an_ignored_mask_is_diagnosed_and_another_fault_under_a_mask_is_not(course):
    whole = course.reference_text("exercise_02")
    start = "    def forward(self, x, mask=None):\n"
    assert whole.count(start) == 1
    ignored, doubled = (
        judged(course, whole.replace(start, start + f"        {line}\n")) for line in ("mask = None", "x = x * 2")
    )
    told = {check: diagnosis for check, diagnosis in ignored.items() if diagnosis}
    assert told["matches_reference_with_mask"].kind is DiagnosisKind.NOTHING_MASKED
    assert "matches_reference" not in told
    assert doubled["matches_reference_with_mask"] is None


def judged(course, text: str) -> dict[str, Diagnosis | None]:
    """The diagnosis of each failure."""
    submission = submission_from_text(text)
    forget_descriptions()
    with open_judge(course) as judge:
        verdict = judge("exercise_02", submission, "attention.py", 7)
    return {each.check: each.finding.diagnosis for each in verdict.checks if each.finding}
