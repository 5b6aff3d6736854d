"""Properties of state: the state dict, effects of one call on the next, moves between devices."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from msgspec import structs

from grader.checks.case import Case, make_case
from grader.checks.compare import compare, describe, require_tensor, shape_differences
from grader.checks.context import Context, runs
from grader.checks.failure import Failure
from grader.checks.outcome import LARGE, FailureKind
from grader.checks.outputs import require_declared
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError
from grader.checks.size_cases import SizeCase
from grader.sandbox.probes import ProbeFunction, states
from grader.sandbox.probes import devices as probe
from grader.sandbox.text import as_arguments, excerpt
from grader.spec.exercise import Exercise
from grader.spec.fields import MadeInput
from grader.spec.properties import CallsInTurn, KeepsStateDict, MovesBetweenDevices


@runs(KeepsStateDict)
def try_keeps_state_dict(check: KeepsStateDict, context: Context, case: Case) -> None:
    theirs, other = (context.reference.build(case.arguments) for _ in range(2))
    ours = context.subject.build(case.arguments, like=theirs, at_once=False)
    observed = ours.run_probe(states.save, {})
    if not isinstance(observed, dict):
        raise Failure(FailureKind.STATE, item="the state dict", expected="tensors by name", observed=describe(observed))
    expected = theirs.run_probe(states.save, {})
    own = {name: value for name, value in observed.items() if not _is_free(check, name, theirs)}
    _compare_keys(own, {name: value for name, value in expected.items() if not _is_free(check, name, theirs)})
    loaded = {name: value for name, value in other.run_probe(states.save, {}).items() if name in own}
    for load, checkpoint in ((states.load, "an old checkpoint"), (states.load_as_part, "a larger model's checkpoint")):
        _load(ours, load, checkpoint, {**observed, **loaded}, loaded)


def _is_free(check: KeepsStateDict, name: str, theirs: ModuleProxy) -> bool:
    return check.free_buffers and name not in theirs.weights()


def _compare_keys(observed: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in observed.items():
        require_tensor(value, f"the state dict's {name}")
    ours, theirs = ({name: tuple(value.shape) for name, value in each.items()} for each in (observed, expected))
    missing, extra = shape_differences(ours, theirs)
    if missing or extra:
        raise Failure(FailureKind.STATE, expected=missing, observed=extra)


def _load(
    ours: ModuleProxy, load: ProbeFunction, checkpoint: str, state: dict[str, Any], loaded: dict[str, Any]
) -> None:
    """Raise `Failure` unless the module loads the state, and has the values in `loaded` afterwards."""
    try:
        after = ours.run_probe(load, state)
    except SubjectRaisedError as error:
        raise Failure(
            FailureKind.STATE, action=f"loading {checkpoint}", expected="it to fit", observed=str(error)
        ) from None
    for name, value in loaded.items():
        if not (isinstance(after, dict) and name in after and torch.equal(after[name], value)):
            raise Failure(
                FailureKind.STATE,
                action=f"after loading {checkpoint}",
                item=name,
                expected="its values",
                observed="others",
            )


@runs(CallsInTurn)
def try_calls_in_turn(check: CallsInTurn, context: Context, case: Case) -> None:
    ours, theirs = context.build_both(check, case)
    new = context.subject.build(case.arguments, like=theirs, at_once=False)
    new.training, new.grad = check.training, case.size_case.grad
    every_input = [_inputs_of_call(check, context.exercise, case, index) for index in range(len(check.calls))]
    expected = list(_call_in_turn(check, theirs, every_input))
    for index, observed in enumerate(_call_in_turn(check, ours, every_input)):
        compare(observed, expected[index], f"{turns_in_words(check, index + 1)}: the last call's output")
    if not context.is_first(check, case) or check.largest_size(case.sizes) >= LARGE:
        return

    def use_another(inputs: dict[str, Any]) -> None:
        context.build_subject(check, case).call(check.method, **inputs)

    for index, observed in enumerate(_call_in_turn(check, new, every_input, use_another)):
        done = f"{turns_in_words(check, index + 1)}, and another module built and called before each call"
        compare(observed, expected[index], f"{done}: the last call's output")


def _call_in_turn(
    check: CallsInTurn,
    module: ModuleProxy,
    every_input: list[dict[str, Any]],
    before_each: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Iterator[Any]:
    """Yield the output of each call. Before the call, pass its inputs to `before_each`."""
    for index, inputs in enumerate(every_input):
        if check.evaluates_last and index == len(every_input) - 1:
            module.training = False
        before_each(inputs)
        yield module.call(check.method, **inputs)
        if check.after_each:
            module.call(check.after_each)


def turns_in_words(check: CallsInTurn, count: int) -> str:
    """Return the first calls in words, with their sizes, plain arguments and modes."""
    turns = []
    for index, sizes in enumerate(check.calls[:count]):
        inputs = {**check.inputs, **check.then} if index else check.inputs
        plain = {name: value for name, value in inputs.items() if not isinstance(value, list | MadeInput)}
        is_evaluated = check.evaluates_last and index == len(check.calls) - 1
        turns.append(as_arguments({**sizes, **plain}) + (" in evaluation mode" if is_evaluated else ""))
    between = f", then {check.after_each}(), then with " if check.after_each else " then with "
    mode = " in training mode" if check.training else ""
    return f"one module{mode}, called with {between.join(turns)}"


def _inputs_of_call(check: CallsInTurn, exercise: Exercise, case: Case, index: int) -> dict[str, Any]:
    later = structs.replace(check, inputs={**check.inputs, **check.then}) if index else check
    return make_case(exercise, later, SizeCase(sizes={**case.sizes, **check.calls[index]})).inputs


MOVED = "module and inputs moved to another device"
MIXED_DEVICES = ("is not on the expected device", "Expected all tensors to be on the same device")
"""Parts of torch's messages about tensors on different devices."""


@runs(MovesBetweenDevices)
def try_moves_between_devices(check: MovesBetweenDevices, context: Context, case: Case) -> None:
    module = context.subject.build(case.arguments, at_once=False, variation=check.variation)
    module.training = check.training
    answer = module.run_probe(probe.call_elsewhere, case.inputs)
    if not isinstance(answer, tuple) or len(answer) != len(("here", "devices", "left")):
        raise Failure(FailureKind.DEVICE, action=MOVED, expected="outputs on that device", observed=describe(answer))
    value, devices, left = answer
    require_declared(value, context.exercise, check, case.sizes)
    if devices == ["meta"] * len(context.exercise.interface.outputs):
        return
    if not isinstance(devices, str):
        raise Failure(
            FailureKind.DEVICE, action=MOVED, expected="outputs on that device", observed="outputs on another device"
        )
    if left or any(message in devices for message in MIXED_DEVICES):
        behind = f"tensors that stayed behind: {', '.join(map(str, left))}; " if isinstance(left, list) and left else ""
        raise Failure(
            FailureKind.DEVICE,
            action=MOVED,
            expected="every tensor on that device",
            observed=excerpt(f"{behind}{devices}"),
        )
