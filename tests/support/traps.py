"""Judge traps in one process: one source of workers serves all tests of a session."""

from grader.sandbox.torch_import import import_torch
from grader.spec.paths import Course
from grader.trap.judge import TrapJudge
from grader.trap.result import Caught, Standing, TestResult, TrapResult
from grader.trap.session import Trap
from tests.support.forgetting import forget_descriptions

SEED = 11

PAST = """
import torch


def test_the_past(subject, gaussian):
    attend = subject(4, 6, 8, 0.0)
    x = gaussian(1, 5, 4)
    y = x.clone()
    y[:, 4] += 1
    assert torch.allclose(attend(x)[:, :4], attend(y)[:, :4], atol=1e-5)
"""
"""A trap for exercise_03 that catches its first defect."""

TOO_LONG = """
import pytest


def test_a_long_sequence_is_refused(subject, gaussian):
    with pytest.raises(ValueError):
        subject(4, 6, 2, 0.0)(gaussian(1, 3, 4))
"""
"""A trap for exercise_03 that catches its second defect."""


class Traps:
    """Judges the text of a trap."""

    def __init__(self, course: Course) -> None:
        forget_descriptions()
        import_torch()
        from grader.processes.worker_source import Forker

        self.course = course
        self.source = Forker(course.secret_folders(), for_tests=True)

    def __call__(self, exercise_id: str, text: str, seed: int = SEED, lanes: int = 2) -> TrapResult:
        return TrapJudge(self.course, self.source, lanes=lanes)(exercise_id, Trap(name="trap.py", text=text), seed=seed)


def standings(result: TrapResult) -> dict[str, Standing]:
    """Return the standing of each test by name."""
    return {test.name: test.standing for test in result.tests}


def the_test(result: TrapResult) -> TestResult:
    """Return the only test of a trap."""
    (test,) = result.tests
    return test


def caught(result: TrapResult) -> list[int]:
    """Return the numbers of the defects that are caught at all seeds."""
    return [each.number for each in result.defects if each.caught is Caught.ALWAYS]
