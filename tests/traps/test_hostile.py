"""Hostile tests earn nothing, learn nothing and never end a run."""

import pytest

from grader.trap.implementations import Role
from grader.trap.judge import TrapJudge
from grader.trap.relay import Trap
from tests.support.hostile_traps import FORGING, GUESSING, HARMING, HOSTILE, READING, hostile_trap
from tests.support.traps import Traps

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
