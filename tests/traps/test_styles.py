"""Right tests in many styles count; weak tests get the standing that explains them."""

import pytest

from grader.trap.implementations import Role
from grader.trap.judge import TrapJudge
from grader.trap.result import Standing
from grader.trap.session import Trap
from tests.support.right_traps import WEAK, WrittenTest, right_tests, trap_of, weak_tests
from tests.support.traps import Traps, standings

EXERCISE = "exercise_03"
AMPLE = 60.0
AT_ONCE = 12
RIGHT = list(right_tests())
WEAK_GENERATED = list(weak_tests())
GROUPS = [RIGHT[start : start + AT_ONCE] for start in range(0, len(RIGHT), AT_ONCE)]


def require_right(traps: Traps, tests: list[WrittenTest]) -> None:
    trap = Trap(name="trap.py", text=trap_of(tests))
    result = TrapJudge(traps.course, traps.source)(EXERCISE, trap, roles=(Role.RIGHT,), seconds=AMPLE)
    assert result.problem == ""
    assert [(each.name, each.reason) for each in result.tests if each.standing is not Standing.COUNTS] == []


@pytest.mark.slow
def test_right_tests_count(traps: Traps) -> None:
    require_right(traps, RIGHT[:: len(RIGHT) // 6])


@pytest.mark.slow
@pytest.mark.parametrize("tests", GROUPS, ids=lambda tests: tests[0].name)
def test_right_tests_in_all_styles_count(traps: Traps, tests: list[WrittenTest]) -> None:
    require_right(traps, tests)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(WEAK_GENERATED), AT_ONCE))
def test_weak_tests_in_all_styles_get_the_right_standing(traps: Traps, start: int) -> None:
    group = WEAK_GENERATED[start : start + AT_ONCE]
    trap = Trap(name="trap.py", text=trap_of([test for test, _ in group]))
    result = TrapJudge(traps.course, traps.source)(EXERCISE, trap, roles=(Role.RIGHT, Role.DEFECTIVE), seconds=AMPLE)
    assert standings(result) == {test.name: standing for test, standing in group}
    assert [test.name for test in result.tests if test.catches] == []
    assert (result.score, result.extra) == (0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", WEAK)
def test_a_weak_test_gets_the_right_standing(traps: Traps, name: str) -> None:
    body, standing = WEAK[name]
    result = traps(EXERCISE, trap_of([WrittenTest(name="test_weak", body=body)]))
    assert standings(result) == {"test_weak": standing}
    assert result.score == 0.0
