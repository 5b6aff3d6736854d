"""Properties of what a module keeps: its state dict, what a call leaves to the next, what moves between devices."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import field, structs

from grader.checks.case import make_case
from grader.checks.compare import Failure, compare, describe, require_tensor
from grader.checks.outputs import require_declared
from grader.checks.properties import Context, Property
from grader.sandbox.text import as_arguments, excerpt
from grader.spec.checks import Inputs, Name, Sizes, unknown_sizes
from grader.spec.problem import KeyPath, Problem

if TYPE_CHECKING:
    from grader.checks.case import Case
    from grader.checks.proxies import ModuleProxy
    from grader.spec.exercise import Exercise


class KeepsStateDict(Property, frozen=True, tag="keeps_state_dict"):
    """The state dict has the reference's keys and shapes, buffers included, and loads strictly both ways."""

    shows_values: ClassVar[bool] = False

    free_buffers: bool = False
    """Whether the submission may save other buffers than the reference, or none."""

    def try_case(self, context: Context, case: "Case") -> None:
        from grader.sandbox.probes import states

        theirs, other = (context.reference.build(case.arguments) for _ in range(2))
        ours = context.subject.build(case.arguments, like=theirs, at_once=False)
        seen = ours.run_probe(states.save, {})
        if not isinstance(seen, dict):
            raise Failure("state", f"the state dict: expected tensors by name, saw {describe(seen)}")
        expected = theirs.run_probe(states.save, {})
        own = {name: value for name, value in seen.items() if not self._is_free(name, theirs)}
        self._compare_keys(own, {name: value for name, value in expected.items() if not self._is_free(name, theirs)})
        loaded = {name: value for name, value in other.run_probe(states.save, {}).items() if name in own}
        self._load(ours, {**seen, **loaded}, loaded)

    def _is_free(self, name: str, theirs: "ModuleProxy") -> bool:
        return self.free_buffers and name not in theirs.weights()

    def _compare_keys(self, seen: dict[str, Any], expected: dict[str, Any]) -> None:
        for name, value in seen.items():
            require_tensor(value, f"the state dict's {name}")
        ours, theirs = ({name: tuple(value.shape) for name, value in each.items()} for each in (seen, expected))
        missing = ", ".join(f"{name} {shape}" for name, shape in theirs.items() if ours.get(name) != shape)
        extra = ", ".join(f"{name} {shape}" for name, shape in ours.items() if theirs.get(name) != shape)
        if missing or extra:
            told = f"expected {missing or 'no more'}, saw {excerpt(extra) or 'none of these'}"
            raise Failure("state", f"the state dict, which old checkpoints must fit: {told}")

    def _load(self, ours: "ModuleProxy", state: dict[str, Any], loaded: dict[str, Any]) -> None:
        import torch

        from grader.checks.session import SubjectRaisedError
        from grader.sandbox.probes import states

        try:
            after = ours.run_probe(states.load, state)
        except SubjectRaisedError as error:
            raise Failure("state", f"loading an old checkpoint: expected it to fit, saw {error}") from None
        for name, value in loaded.items():
            if not (isinstance(after, dict) and name in after and torch.equal(after[name], value)):
                raise Failure("state", f"after loading an old checkpoint, {name}: expected its values, saw others")


class CallsInTurn(Property, frozen=True, tag="calls_in_turn"):
    """Called again and again, each time with inputs of other sizes, one module returns what the reference does."""

    calls: tuple[Sizes, ...]
    """The sizes that are others in each call, in order."""
    then: Inputs = field(default_factory=dict)
    """Added to the inputs, or in place of them, from the second call on."""
    after_each: Name = ""
    """A method that is called after each call, with nothing."""
    evaluates_last: bool = False
    """Whether the last call is made in eval mode, to show what those before it left."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        for index, call in enumerate(self.calls):
            yield from unknown_sizes(call, sizes, (*path, "calls", index), is_item=False)

    def sizes_of_calls(self, sizes: dict[str, int]) -> dict[str, int]:
        own = {name for call in self.calls for name in call}
        return {name: size for name, size in super().sizes_of_calls(sizes).items() if name not in own}

    def try_case(self, context: Context, case: "Case") -> None:
        ours, theirs = context.pair(self, case)
        for index in range(len(self.calls)):
            if self.evaluates_last and index == len(self.calls) - 1:
                ours.training = theirs.training = False
            inputs = self._inputs_of_call(context.exercise, case, index)
            seen, expected = ours.call(self.method, **inputs), theirs.call(self.method, **inputs)
            between = f", then {self.after_each}(), then with " if self.after_each else " then with "
            turns = between.join(as_arguments(call) for call in self.calls[: index + 1])
            compare(seen, expected, f"one module, called with {turns}: the last call's output")
            for module in (ours, theirs) if self.after_each else ():
                module.call(self.after_each)

    def inputs_of_calls(self, exercise: "Exercise", case: "Case") -> list[dict[str, Any]]:
        """What the module is given in each call."""
        return [self._inputs_of_call(exercise, case, index) for index in range(len(self.calls))]

    def _inputs_of_call(self, exercise: "Exercise", case: "Case", index: int) -> dict[str, Any]:
        later = structs.replace(self, inputs={**self.inputs, **self.then}) if index else self
        return make_case(exercise, later, {**case.sizes, **self.calls[index]}).inputs


MOVED = "module and inputs moved to another device"
STAYED_BEHIND = (
    "stayed behind: ",
    "is not on the expected device",
    "Expected all tensors to be on the same device",
    "out of meta tensor",
)


class MovesBetweenDevices(Property, frozen=True, tag="moves_between_devices"):
    """Moved to another device, the module works there: nothing that it computes with stays behind."""

    needs_module: ClassVar[bool] = True
    is_slow: ClassVar[bool] = True  # torch completes its import
    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    def try_case(self, context: Context, case: "Case") -> None:
        from grader.sandbox.probes import devices as probe

        module = context.subject.build(case.arguments, at_once=False)
        module.training = self.training
        answer = module.run_probe(probe.call_elsewhere, case.inputs)
        if not isinstance(answer, tuple) or len(answer) != len(("here", "devices")):
            raise Failure("device", f"{MOVED}: expected the outputs there, saw {describe(answer)}")
        value, devices = answer
        require_declared(value, context.exercise, self, case.sizes)
        if devices == ["meta"] * len(context.exercise.interface.outputs):
            return
        if not isinstance(devices, str):
            raise Failure("device", f"{MOVED}: expected the outputs there, saw them elsewhere")
        if any(marker in devices for marker in STAYED_BEHIND):
            what = f"{MOVED}: expected everything it computes with to be there"
            raise Failure("device", f"{what}, saw {excerpt(devices)}")
