"""Hostile tests earn nothing, learn nothing and never end a run."""

import random

import pytest

from grader.spec.paths import Course
from grader.trap.implementations import Role
from grader.trap.judge import TrapJudge
from grader.trap.result import Standing
from grader.trap.session import Trap
from tests.support.hostile_traps import FORGING, GUESSING, HARMING, HOSTILE, READING, hostile_trap
from tests.support.traps import Traps, the_test

EXERCISE = "exercise_03"
SECRET = "attn_scores"
"""A name of the subject's source."""

MAY_STAND = 3
"""Hostile tests in one trap: some end their process, and each process takes a moment."""

GROUPS = [[*HOSTILE][start : start + MAY_STAND] for start in range(0, len(HOSTILE), MAY_STAND)]
QUICK = ["the_code_of_forward", "a_text_that_formats", "luck", "a_finished_run"]


GOOD = """

def test_good(subject, gaussian):
    m, x = built(subject), gaussian(1, 3, 4)
    y = x.clone()
    y[:, 2] += 1
    assert torch.allclose(m(x)[:, :2], m(y)[:, :2], atol=1e-5)
"""


def require_nothing(traps: Traps, names: list[str]) -> None:
    trap = Trap(name="trap.py", text=hostile_trap(names))
    result = TrapJudge(traps.course, traps.source)(EXERCISE, trap, roles=(Role.RIGHT, Role.DEFECTIVE))
    assert result.problem == ""
    assert len(result.tests) == len(names)
    assert (result.score, result.extra) == (0.0, 0.0)
    assert all(SECRET not in test.reason for test in result.tests)


def test_hostile_tests_earn_nothing(traps: Traps) -> None:
    require_nothing(traps, QUICK)
    assert len(HOSTILE) == sum(map(len, (READING, GUESSING, FORGING, HARMING)))


@pytest.mark.slow
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_every_hostile_test_earns_nothing(traps: Traps, names: list[str]) -> None:
    require_nothing(traps, names)


@pytest.mark.slow
def test_a_good_test_counts_beside_hostile_ones(traps: Traps) -> None:
    text = hostile_trap(["a_subject_that_sleeps", "leaving", "leaving_by_pytest"]) + GOOD
    result = TrapJudge(traps.course, traps.source)(
        EXERCISE, Trap(name="trap.py", text=text), roles=(Role.RIGHT, Role.DEFECTIVE)
    )
    assert [each.by for each in result.defects if not each.stretch] == [("test_good",)]


class _InOrder(random.SystemRandom):
    """Randomness that keeps every order."""

    def shuffle(self, x: object) -> None:
        pass


FIRST = """
import contextlib, os, torch


def test_the_first_process(subject, gaussian):
    x = gaussian(2, 5, 4)
    subject(4, 6, 8, 0.0).eval()(x)
    subject(4, 6, 8, 0.5).train()(x)
    with contextlib.suppress(Exception):
        subject(4, 6, 2, 0.0)(x)
    assert os.getpid() <= {}
"""
"""It uses the module so that each defect shows, but knows no right answer."""


@pytest.mark.parametrize("processes", [3, 4, 5])
def test_a_test_that_accepts_the_first_implementation_alone_earns_nothing(
    own_course: Course, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    monkeypatch.setattr(random, "SystemRandom", _InOrder)
    traps = Traps(own_course)
    try:
        result = traps(EXERCISE, FIRST.format(processes), lanes=1)
    finally:
        traps.source.close()
    assert result.score == 0.0
    assert the_test(result).standing in (Standing.OTHER_CAUSE, Standing.FAILS_REFERENCE)
