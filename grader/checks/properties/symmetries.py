"""Properties of what must make no difference: the order and split of samples, padding, a shift of places, a dtype."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import structs

from grader.checks.calling_variants import LARGE_INPUTS
from grader.checks.case import SAMPLES
from grader.checks.compare import FLOAT32, FLOAT64, Tolerance, require_close, require_shape
from grader.checks.outcome import FailureKind
from grader.checks.outputs import declared_output, nth_output
from grader.checks.properties import Context, Property
from grader.spec.checks import Index, Inputs, MadeInput, MaskKind, Name, made_inputs, output_problems, unknown_name
from grader.spec.problem import KeyPath, Problem, quoted

if TYPE_CHECKING:
    import torch

    from grader.checks.case import Case
    from grader.spec.exercise import Exercise

HALVES = ("bfloat16", "float16")
HALF_ROUNDING = 0.15
"""bfloat16 rounds at two digits: two right ways are this share of the largest output apart, at the most."""

PRECISE = {"float64": FLOAT64, "bfloat16": Tolerance(2e-2, 1e-7), "float16": Tolerance(4e-3, 1e-7)}
"""Of halves a few units in the last place: what is computed in a wider dtype and rounded once or twice."""


class SamplesInAnyOrder(Property, frozen=True, tag="samples_in_any_order"):
    """A batch in reversed order, or in two parts, gives each sample the output that it has in the whole batch."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    output: Index = 0
    """Which output is looked at."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from output_problems(exercise, self, self.output, path)
        shapes = [*self.all_inputs(exercise).values(), *exercise.interface.outputs[self.output : self.output + 1]]
        if not all(any(SAMPLES in _shape(each) for each in some) for some in (shapes[:-1], shapes[-1:])):
            remedy = f"name the axis of the samples {SAMPLES}, in an input and in the output"
            yield Problem(path, f"samples along an axis called {SAMPLES}", "none", remedy)

    def try_case(self, context: Context, case: "Case") -> None:
        import torch

        samples = next(case.inputs[name].size(axis) for name, axis in case.samples_axes.items())
        if samples == 1:
            return
        axis = context.exercise.interface.outputs[self.output].index(SAMPLES)
        module = context.ours(self, case)
        whole = declared_output(context.exercise, self, case, module(**case.inputs), self.output)

        def output_of(chosen: "torch.Tensor") -> "torch.Tensor":
            inputs = {
                name: value.index_select(case.samples_axes[name], chosen) for name, value in _batched(case).items()
            }
            seen = nth_output(module(**{**case.inputs, **inputs}), self.output)
            require_shape(seen, [len(chosen) if at == axis else size for at, size in enumerate(whole.shape)], "output")
            return seen

        places = torch.arange(samples)
        turned = output_of(places.flip(0)).flip(axis)
        require_close(
            turned, whole, f"{samples} samples in reversed order, reversed again: output", FLOAT32, FailureKind.ORDER
        )
        parts = torch.cat([output_of(part) for part in places.tensor_split(2)], dim=axis)
        require_close(
            parts, whole, f"{samples} samples in two parts, put together again: output", FLOAT32, FailureKind.PARTS
        )


class UnchangedBy(Property, frozen=True, tag="unchanged_by"):
    """A module with other values for some arguments of forward, and one without, give the same, up to rounding."""

    shows_values: ClassVar[bool] = False

    instead: Inputs
    """The arguments and their other values, as they stand."""
    dtype: Name = ""
    """The dtype of module and inputs; as they are unless given. In half precision much more is rounding."""
    loudness: float = 1.0
    """How many times as large the inputs are as usual."""
    output: Index = 0
    """Which output is looked at."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from output_problems(exercise, self, self.output, path)
        yield from made_inputs(self.instead, (*path, "instead"))

    def try_case(self, context: Context, case: "Case") -> None:
        theirs = context.reference.build(case.arguments, dtype=self.dtype)
        one, other = (
            context.subject.build(case.arguments, dtype=self.dtype, like=theirs, at_once=False) for _ in range(2)
        )
        one.grad = other.grad = case.grad
        inputs = {**case.inputs, **loud(case, self.loudness, self.dtype)}
        before = declared_output(context.exercise, self, case, one(**inputs), self.output)
        after = nth_output(other(**{**inputs, **self.instead}), self.output)
        require_shape(after, list(before.shape), "output")
        told = ", ".join(f"{name}={value!r}" for name, value in self.instead.items())
        what = f"with {told}, which should change nothing: {f'in {self.dtype}, ' * bool(self.dtype)}output"
        tolerance = structs.replace(FLOAT32, of_largest=HALF_ROUNDING if self.dtype in HALVES else 0.0)
        require_close(after.float(), before.float(), what, tolerance, FailureKind.SHIFT)


class PaddingChangesNothing(Property, frozen=True, tag="padding_changes_nothing"):
    """What a padding mask hides may as well be cut off: the output at the tokens that stay is the same."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    tokens: Name = "tokens"
    """The size that counts the tokens, in the shapes of inputs and outputs."""
    mask: Name = "mask"
    """The input that is the mask."""
    output: Index = 0
    """Which output is looked at."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from output_problems(exercise, self, self.output, path)
        yield from unknown_name("a size that the sizes gives", self.tokens, sizes, (*path, "tokens"))
        spec = self.all_inputs(exercise).get(self.mask)
        if not (isinstance(spec, MadeInput) and spec.mask is MaskKind.PADDING):
            found = quoted(str(spec.mask)) if isinstance(spec, MadeInput) else "no mask"
            remedy = f"write inputs: {{{self.mask}: {{mask: padding, shape: [batch, {self.tokens}]}}}}"
            yield Problem((*path, "mask"), "a padding mask", found, remedy)

    def try_case(self, context: Context, case: "Case") -> None:
        kept = (case.sizes[self.tokens] + 1) // 2
        if kept == case.sizes[self.tokens]:
            return
        specs = self.all_inputs(context.exercise)
        module = context.ours(self, case)
        padded = declared_output(context.exercise, self, case, module(**case.inputs), self.output)
        short = {name: self._cut(value, _shape(specs[name]), kept) for name, value in case.inputs.items()}
        padded_part = self._cut(padded, context.exercise.interface.outputs[self.output], kept)
        alone = nth_output(module(**short), self.output)
        require_shape(alone, list(padded_part.shape), "without the padding: output")
        what = f"{kept} {self.tokens} with {case.sizes[self.tokens] - kept} of padding after them: output at the former"
        require_close(padded_part, alone, what, FLOAT32, FailureKind.PADDING)

    def _cut(self, value: Any, shape: list[Any], kept: int) -> Any:
        for axis, size in enumerate(shape):
            value = value.narrow(axis, 0, kept) if size == self.tokens else value
        return value


def _shape(spec: Any) -> list[Any]:
    return spec if isinstance(spec, list) else spec.shape if isinstance(spec, MadeInput) else []


def loud(case: "Case", loudness: float, dtype: str) -> "dict[str, torch.Tensor]":
    """The floating-point inputs, so many times as large, in a dtype where one is given."""
    import torch

    times = {name: loudness * value for name, value in case.tensors().items()}
    return {name: value.to(getattr(torch, dtype)) for name, value in times.items()} if dtype else times


def _batched(case: "Case") -> "dict[str, torch.Tensor]":
    return {name: case.inputs[name] for name in case.samples_axes}


def roughly(dtype: str, loudness: float) -> Tolerance:
    """How far values may lie apart where no more than the usual is asked: of a dtype, with inputs so loud."""
    if dtype in HALVES:
        return structs.replace(FLOAT32, of_largest=HALF_ROUNDING)
    return LARGE_INPUTS if loudness > 1 else FLOAT32
