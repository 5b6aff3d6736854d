"""The script of a trial, for calls that no exercise makes."""

import runpy
from pathlib import Path
from types import ModuleType

import pytest
import torch
from msgspec import structs

from grader.checks.adapters import adapter_of
from grader.checks.failure import Relation
from grader.checks.reference import import_file
from grader.sandbox.calling_variants import CallingVariant, MemoryLayout
from grader.sandbox.probes.training_step import Adapter
from grader.sandbox.subject import Entry
from grader.sandbox.values import from_python, from_tensor
from grader.spec.interface import Interface
from grader.spec.kinds import KindName
from grader.spec.loading import load_exercise
from grader.student.replay import BuiltModule, Ending, Expression, MadeCall, Operand, Replay
from grader.student.script import write_script
from tests.support.paths import ROOT
from tests.support.sampling import EXAMPLE


def test_a_plain_argument_before_a_tensor_does_not_hide_the_layout_of_the_tensor() -> None:
    exercise = load_exercise(ROOT / "solutions" / EXAMPLE / "exercise.yaml")
    arguments = {"flag": True, "x": from_tensor(torch.randn(2, 3))}
    call = MadeCall(
        module=1,
        number=1,
        arguments=arguments,
        variant=CallingVariant(layout=MemoryLayout.EXPANDED),
        sample_axes={"x": 0},
    )
    build = BuiltModule(number=1, entry=exercise.interface.entry(), arguments={})
    script = write_script(
        exercise, Replay(steps=[build, call]), ModuleType("attention"), Path("attention.py"), ""
    ).text()
    assert "x = x.narrow(0, 0, 1).expand(x.shape)" in script


def test_a_kind_whose_experiment_is_not_written_out_runs_in_the_kits_own_adapter(tmp_path: Path) -> None:
    file = ROOT / "tests" / "corpus" / "faulty_files" / "windows.py"
    interface = Interface(
        kind_name=KindName.DATASET,
        class_name="WindowDataset",
        constructor={"block_size": 3},
        inputs={"tokens": ["items"]},
        outputs=[[1]],
    )
    exercise = structs.replace(
        load_exercise(ROOT / "solutions" / EXAMPLE / "exercise.yaml"), interface=interface, defects=[], checks=[]
    )
    build = BuiltModule(number=1, entry=interface.entry(), arguments={"block_size": from_python(3)})
    call = MadeCall(module=1, number=0, arguments={"tokens": from_tensor(torch.arange(9))}, is_small=True)
    replay = Replay(adapter=adapter_of(interface), steps=[build, call])
    script = tmp_path / "script.py"
    script.write_text(write_script(exercise, replay, import_file(file, file.stem), file, "").text(), encoding="utf-8")
    out = runpy.run_path(str(script))["out"]
    assert isinstance(out, tuple)  # the dataset itself would be an endless sequence
    length, first, second, *_ = out
    assert length == 2
    assert [each.tolist() for each in (*first, *second)] == [[0, 1, 2], [1, 2, 3], [3, 4, 5], [4, 5, 6]]


def test_steps_of_an_optimizer_with_closures_run_in_the_kits_own_adapter(tmp_path: Path) -> None:
    course = ROOT / "solutions" / "exercise_32"
    exercise = load_exercise(course / "exercise.yaml")
    file = course / "optimizer.py"
    entry = exercise.interface.entry()
    build = BuiltModule(number=1, entry=entry, arguments={"lr": from_python(0.1), "closure": from_python(value=True)})
    call = MadeCall(module=1, number=0, arguments={"weights": from_tensor(torch.ones(2, 3))}, is_small=True)
    observed = Expression(operands=(Operand(call=0, item=4),))  # two parameters in two runs, then the losses
    ending = Ending(relation=Relation.CLOSE, observed=observed, value=from_tensor(torch.zeros(8)))
    replay = Replay(adapter=adapter_of(exercise.interface), steps=[build, call], ending=ending)
    script = tmp_path / "script.py"
    script.write_text(
        write_script(exercise, replay, import_file(file, file.stem), file, "not the losses").text(), "utf-8"
    )
    with pytest.raises(AssertionError, match="not the losses"):
        runpy.run_path(str(script))


STEP = """def step(model, optimizer, x):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "count": len(x), "note": "right"}
"""


@pytest.mark.parametrize(("item", "is_recorded"), [(0, False), (8, False), (9, True), (10, True)])
def test_what_a_training_step_returns_in_a_container_is_recorded_if_it_is_compared(
    tmp_path: Path, item: int, is_recorded: bool
) -> None:
    interface = Interface(
        kind_name=KindName.TRAINING_STEP, function="step", constructor={}, inputs={"x": ["steps"]}, outputs=[[]]
    )
    exercise = structs.replace(
        load_exercise(ROOT / "solutions" / EXAMPLE / "exercise.yaml"), interface=interface, defects=[], checks=[]
    )
    file = tmp_path / "steps.py"
    file.write_text(STEP, encoding="utf-8")
    inputs = {"x": torch.randn(2, 4, 6)}
    value = Adapter(Entry(call=import_file(file, file.stem).step, inputs=("x",), by_position=False))(**inputs)
    build = BuiltModule(number=1, entry="step", arguments={})
    call = MadeCall(module=1, number=0, arguments={name: from_tensor(each) for name, each in inputs.items()})
    observed = Expression(operands=(Operand(call=0, item=item),))
    ending = Ending(relation=Relation.CLOSE, observed=observed, value=from_tensor(value[item] + 1))
    replay = Replay(adapter=adapter_of(interface), steps=[build, call], ending=ending)
    script = tmp_path / "script.py"
    text = write_script(exercise, replay, import_file(file, file.stem), file, "another number").text()
    script.write_text(text.rpartition("\nassert ")[0], encoding="utf-8")
    out = runpy.run_path(str(script))["out"]
    assert len(out) == 9 + 2 * is_recorded
    assert out[item].shape == value[item].shape
    if item == 9:  # the counts; the losses depend on the initial weights
        assert out[item].tolist() == [4.0, 4.0]
