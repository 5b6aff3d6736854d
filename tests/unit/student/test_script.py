"""The script of a trial, for calls that no exercise makes."""

from pathlib import Path
from types import ModuleType

import torch

from grader.sandbox.values import from_tensor
from grader.spec.loading import load_exercise
from grader.student.replay import BuiltModule, MadeCall, Replay
from grader.student.script import write_script
from tests.support.paths import ROOT
from tests.support.sampling import EXAMPLE


def test_a_plain_argument_before_a_tensor_does_not_hide_the_layout_of_the_tensor() -> None:
    exercise = load_exercise(ROOT / "solutions" / EXAMPLE / "exercise.yaml")
    arguments = {"flag": True, "x": from_tensor(torch.randn(2, 3))}
    call = MadeCall(module=1, number=1, arguments=arguments, variant=["expanded"], sample_axes={"x": 0})
    build = BuiltModule(number=1, entry=exercise.interface.entry(), arguments={})
    script = write_script(exercise, Replay(steps=[build, call]), ModuleType("attention"), Path("attention.py"), "")
    assert "x = x.narrow(0, 0, 1).expand(x.shape)" in script
