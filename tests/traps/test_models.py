"""Every exercise has a model trap: it accepts all right implementations and catches each defect alone."""

import shutil

import pytest

from grader.author.model_trap import trap_problems
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.trap.implementations import MAX_WRONG_FIXES, Role, implementations_of
from grader.trap.judge import TrapJudge
from grader.trap.reading import read_trap
from grader.trap.result import Standing, TrapResult
from grader.trap.session import Trap
from tests.support.paths import ROOT
from tests.support.traps import Traps

EXERCISES = Course(root=ROOT).exercise_ids()
QUICK = "exercise_06"
DECOY = "exercise_35"
AMPLE = 120.0
"""Seconds for tests that are not about time: decoys have many wrong fixes."""

LEAVING_TRACES = """
def test_right(subject, gaussian):
    subject

def test_wrong(subject, gaussian):
    assert subject is None
"""


def proved(traps: Traps, exercise_id: str, trap: Trap) -> TrapResult:
    judge = TrapJudge(traps.course, traps.source)
    return judge(exercise_id, trap, seed=7, roles=(Role.RIGHT, Role.DEFECTIVE), seconds=AMPLE, is_proof=True)


def require_model_trap(traps: Traps, exercise_id: str) -> None:
    course = traps.course
    path = course.model_trap(exercise_id)
    result = proved(traps, exercise_id, read_trap(course, exercise_id, path))
    assert trap_problems(result, load_exercise(course.description(exercise_id)), course.shown(path)) == []
    assert result.catches_all()


def test_a_model_trap_holds(traps: Traps) -> None:
    require_model_trap(traps, QUICK)


def test_a_model_trap_that_does_not_hold_gets_places_and_remedies(traps: Traps) -> None:
    exercise = load_exercise(traps.course.description(QUICK))
    result = proved(traps, QUICK, Trap(name="trap.py", text=LEAVING_TRACES))
    first, second, *remaining = trap_problems(result, exercise, "solutions/exercise_06/trap.py")
    assert first.startswith("solutions/exercise_06/trap.py:1: test_right does not count: it does not call the subject")
    assert second.startswith(
        "solutions/exercise_06/trap.py:6: test_wrong does not count: it fails before the subject answers"
    )
    names = {defect.id for defect in exercise.defects}
    assert {problem.split("no test fails on ")[1].split(" at every seed")[0] for problem in remaining} == names
    assert all("write one, or state in the interface" in problem for problem in remaining)
    broken = proved(traps, QUICK, Trap(name="trap.py", text="x = 1\ndef test_a(:\n"))
    (problem,) = trap_problems(broken, exercise, "solutions/exercise_06/trap.py")
    assert problem.startswith("solutions/exercise_06/trap.py:2: no test runs: SyntaxError")


def test_students_traps_run_on_some_wrong_fixes_of_a_decoy_and_a_proof_on_all(course: Course) -> None:
    exercise = load_exercise(course.description(DECOY))

    def defective(*, has_every_wrong_fix: bool) -> list[str]:
        found = implementations_of(course, exercise, has_every_wrong_fix=has_every_wrong_fix)
        return [each.source.digest() for each in found if each.role is Role.DEFECTIVE]

    every, some = defective(has_every_wrong_fix=True), defective(has_every_wrong_fix=False)
    assert len(some) == len(set(some)) == MAX_WRONG_FIXES < len(every)
    assert set(some) <= set(every)


PRINTING = """

_right = language_loss

def language_loss(*given, **named):
    print(__name__, __file__)
    return _right(*given, **named)
"""

NAMED = """
import torch

def test_names(subject, gaussian, capsys):
    subject(gaussian(1, 4, 3), torch.tensor([[0, 1, 2, 0]]))
    assert capsys.readouterr().out == "loss loss.py\\n"
"""


def test_every_implementation_has_the_name_of_its_exercises_module(traps: Traps, own_course: Course) -> None:
    reference = own_course.reference("exercise_29")
    reference.write_text(reference.read_text(encoding="utf-8") + PRINTING, encoding="utf-8")
    alternative = own_course.alternatives("exercise_29") / "copied.py"
    alternative.parent.mkdir(parents=True)
    shutil.copy(reference, alternative)
    result = TrapJudge(own_course, traps.source)("exercise_29", Trap(name="trap.py", text=NAMED))
    assert result.tests[0].of == 2
    assert (result.tests[0].standing, result.tests[0].reason) == (Standing.COUNTS, "")
    assert result.tests[0].catches == 0


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", [each for each in EXERCISES if each != QUICK])
def test_every_model_trap_holds(traps: Traps, exercise_id: str) -> None:
    require_model_trap(traps, exercise_id)
