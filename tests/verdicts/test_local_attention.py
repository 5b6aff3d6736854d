"""Local attention hides the future too: right windows pass, windows that see ahead fail."""

import re

import pytest

from grader.checks.outcome import FailureKind
from grader.report.findings import sentence
from tests.support.findings import sentence_pattern
from tests.support.judging import Judge
from tests.support.paths import ROOT
from tests.support.sampling import others_slow

EXERCISE = "exercise_22"
SEEN = "return (column <= row) & (row - column < window)"
REFERENCE = (ROOT / "solutions" / EXERCISE / "attention.py").read_text(encoding="utf-8")


def check_of(judge_text: Judge, text: str):
    [check] = [each for each in judge_text(EXERCISE, text).checks if each.check == "future_does_not_leak"]
    return check


def test_a_window_in_which_the_first_tokens_do_not_reach_the_last_output_passes(judge_text: Judge) -> None:
    assert check_of(judge_text, REFERENCE).status == "passed"


@pytest.mark.parametrize(
    "seen",
    others_slow(
        [
            "return (column <= row + 1) & (row - column < window)",
            "return (column - row).abs() < window",
            "return (row - column) % words < window",
        ]
    ),
    ids=["one ahead", "both sides", "around the end"],
)
def test_a_window_that_sees_ahead_fails(judge_text: Judge, seen: str) -> None:
    check = check_of(judge_text, REFERENCE.replace(SEEN, seen))
    assert check.status == "failed"
    assert re.fullmatch(sentence_pattern(FailureKind.LEAK, item="output", place="word .*"), sentence(check.finding))


def test_an_output_that_never_moves_fails(judge_text: Judge) -> None:
    check = check_of(judge_text, REFERENCE.replace("return self.wo(", "return 0 * self.wo("))
    assert check.status == "failed"
    pattern = sentence_pattern(FailureKind.DEAD, item="outputs", place="word 1", expected="a change.*")
    assert re.fullmatch(pattern, sentence(check.finding))
