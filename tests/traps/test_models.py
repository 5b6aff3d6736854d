"""Every exercise has a model trap: it accepts all right implementations and catches each defect alone."""

import pytest

from grader.spec.paths import Course
from grader.trap.implementations import Role
from grader.trap.judge import TrapJudge
from grader.trap.reading import read_trap
from grader.trap.result import Caught, Standing
from tests.support.paths import ROOT
from tests.support.traps import Traps

EXERCISES = Course(root=ROOT).exercise_ids()
QUICK = "exercise_06"
AMPLE = 60.0
"""Seconds for tests that are not about time: decoys have many wrong fixes."""


def require_model_trap(traps: Traps, exercise_id: str) -> None:
    course = traps.course
    trap = read_trap(course, exercise_id, course.model_trap(exercise_id))
    result = TrapJudge(course, traps.source)(exercise_id, trap, roles=(Role.RIGHT, Role.DEFECTIVE), seconds=AMPLE)
    assert result.problem == ""
    assert [(test.name, test.reason) for test in result.tests if test.standing is not Standing.COUNTS] == []
    assert [each.number for each in result.defects if each.caught is not Caught.ALWAYS] == []
    assert result.catches_all()


def test_a_model_trap_holds(traps: Traps) -> None:
    require_model_trap(traps, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", [each for each in EXERCISES if each != QUICK])
def test_every_model_trap_holds(traps: Traps, exercise_id: str) -> None:
    require_model_trap(traps, exercise_id)
