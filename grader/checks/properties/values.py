"""Properties of what is computed: values, shapes, gradients, weights."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from grader.checks import pictures
from grader.checks.calling_variants import compare_in_calling_variant
from grader.checks.case import make_case
from grader.checks.compare import (
    FLOAT32,
    Failure,
    compare,
    compare_gradient,
    compare_gradients,
    numbers,
    require_finite,
    require_form,
    require_gradients,
    require_tensor,
)
from grader.checks.outputs import declared_output, require_declared
from grader.checks.properties import Context, Property
from grader.checks.properties.side_effects import require_inputs_kept
from grader.checks.properties.symmetries import HALVES, PRECISE, loud, roughly
from grader.checks.subjects import parts_of
from grader.sandbox.text import as_index
from grader.spec.checks import (
    Index,
    MadeInput,
    Name,
    Shape,
    Sizes,
    Text,
    output_problems,
    unknown_name,
    unknown_sizes,
)
from grader.spec.problem import KeyPath, Problem

if TYPE_CHECKING:
    from grader.checks.case import Case
    from grader.checks.proxies import ModuleProxy
    from grader.spec.exercise import Exercise

LEARNS = 1e-4
"""A reference gradient above this is one that a submission must have too."""

SUM_TOLERANCE = 1e-4

SUM_OF_DROPPED = 0.1
"""Rows that are off by less are of another making than those of which weights were dropped."""


class MatchesReference(Property, frozen=True, tag="matches_reference"):
    """Outputs (and gradients) equal the reference's, given the same weights and inputs."""

    walks_all_size_cases: ClassVar[bool] = True
    draws_sizes: ClassVar[bool] = True

    gradients: bool = True
    """Whether gradients are compared too."""
    variation: str = ""
    """Python that defines a class `Variation` of `submission`'s, which is built in place of its own."""

    def variation_source(self) -> str:
        return self.variation

    def try_case(self, context: Context, case: "Case") -> None:
        if self.variation:
            self._compare_plainly(context, *context.pair(self, case, variation=self.variation), case)
            return
        ours, theirs = context.pair(self, case)
        if case.is_plain:
            unmasked = self._unmasked(context, theirs, case)
            try:
                self._compare_plainly(context, ours, theirs, case)
            except Failure as failure:
                from grader.checks import explanations

                if failure.kind == "values":
                    tensor, within = failure.wrong and failure.wrong.tensor, (FLOAT32.relative, FLOAT32.absolute)
                    failure.explanation = explanations.explain_by_mask(tensor, unmasked, *within) or failure.explanation
                raise
        if case.calling_variant and context.are_calling_variants_tried():
            compare_in_calling_variant(case.calling_variant, case, self.method, ours, theirs, context.exercise)

    def _unmasked(self, context: Context, theirs: "ModuleProxy", case: "Case") -> Any:
        """What the reference returns where its masks hide nothing; asked every time, for answers are kept in order."""
        import torch

        specs = self.all_inputs(context.exercise)
        masks = [name for name, spec in specs.items() if isinstance(spec, MadeInput) and spec.is_mask()]
        if not masks:
            return None
        nothing_hidden = {name: torch.ones_like(case.inputs[name]) for name in masks}
        return theirs.call(self.method, **{**case.inputs, **nothing_hidden})

    def _compare_plainly(self, context: Context, ours: "ModuleProxy", theirs: "ModuleProxy", case: "Case") -> None:
        interface = context.exercise.interface
        what = f"with the same {interface.kind.shared}, {self.method or interface.called()}: output"
        if not self.gradients:
            expected = theirs.call(self.method, **case.inputs)
            parts = [] if self.variation else parts_of(interface, expected)
            compare(ours.call(self.method, **case.inputs), expected, what, parts=parts)
            return
        expected = theirs.differentiate(None, self.method, **case.inputs)
        seen = ours.differentiate(expected.cotangents, self.method, **case.inputs)
        parts = [] if self.variation else parts_of(interface, expected.value)
        compare(seen.value, expected.value, what, parts=parts)
        compare_gradients(seen.parameters, expected.parameters)
        for name, gradient in expected.inputs.items():
            compare_gradient(seen.inputs.get(name), gradient, f"the input {name}")
        require_inputs_kept(ours, case)


class ReturnsShapes(Property, frozen=True, tag="returns_shapes"):
    """Outputs have the shapes the interface declares, at every size."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    def shapes_needed(self, exercise: "Exercise") -> list[Shape]:
        return exercise.interface.outputs

    def try_case(self, context: Context, case: "Case") -> None:
        value = context.ours(self, case).call(self.method, **case.inputs)
        require_declared(value, context.exercise, self, case.sizes)


class EveryParameterLearns(Property, frozen=True, tag="every_parameter_learns"):
    """Each parameter gets a gradient wherever the reference's does."""

    needs_module: ClassVar[bool] = True
    shows_values: ClassVar[bool] = False

    parameters: tuple[Text, ...] = ()
    """The names of those that are looked at; all of them unless given."""

    def try_case(self, context: Context, case: "Case") -> None:
        ours, theirs = context.pair(self, case)
        expected = theirs.differentiate(None, self.method, **case.inputs)
        passed = ours.differentiate(expected.cotangents, self.method, **case.inputs)
        require_form(passed.value, expected.value, f"{self.method or 'forward'}: output")
        gradients = {name: expected.parameters[name] for name in self.parameters or expected.parameters}
        learning = [name for name, each in gradients.items() if each is not None and float(each.abs().max()) > LEARNS]
        require_gradients(passed.parameters, expected.parameters, learning)


class RowsSumToOne(Property, frozen=True, tag="rows_sum_to_one"):
    """The attention weights, returned or kept in an attribute, sum to one along `axis`."""

    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    output: Index = 1
    """Which output holds the weights."""
    attribute: Name = ""
    """The attribute that keeps the weights, where no output holds them."""
    axis: int = -1
    """The axis of the keys."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        outputs = exercise.interface.outputs
        if self.attribute:
            return
        yield from output_problems(exercise, self, self.output, path)
        if self.method or self.output >= len(outputs):
            return
        rank = len(outputs[self.output])
        if not -rank <= self.axis < rank:
            what = f"an axis of the output, from 0 to {rank - 1}"
            yield Problem((*path, "axis"), what, str(self.axis), "write axis: -1")

    def try_case(self, context: Context, case: "Case") -> None:
        module = context.ours(self, case)
        value = module.call(self.method, **case.inputs)
        if self.attribute:
            weights, what = module.attribute(self.attribute), f"the attribute {self.attribute}"
            require_tensor(weights, what)
        else:
            weights, what = declared_output(context.exercise, self, case, value, self.output), "the attention weights"
        require_finite(weights, what)
        sums = weights.sum(self.axis)
        off = (sums - 1).abs()
        if float(off.max()) > SUM_TOLERANCE:
            worst = pictures.place_of_largest(off)
            mode = " in training mode" if self.training else ""
            raise Failure(
                "sum" if float(off.max()) > SUM_OF_DROPPED else "sum-nearly",
                f"{what}{mode}: expected each row to sum to 1, "
                f"saw {numbers(1.0, float(sums[tuple(worst)]))[1]} at {as_index(worst)}",
                pictures.lone_weights(weights, worst, self.axis),
            )


class KeepsDtype(Property, frozen=True, tag="keeps_dtype"):
    """A module in float64 takes and returns float64, with the precision of float32 at least."""

    precise: bool = False
    """Whether the values must have the precision of the dtype too."""
    dtype: Name = "float64"
    """Another dtype, of which two digits have to be right unless it is `precise`."""
    loudness: float = 1.0
    """How many times as large the inputs are as usual."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        yield from unknown_name("a dtype", self.dtype, [*HALVES, "float64"], (*path, "dtype"))

    def try_case(self, context: Context, case: "Case") -> None:
        ours, theirs = context.pair(self, case, dtype=self.dtype)
        inputs = {**case.inputs, **loud(case, self.loudness, self.dtype)}
        tolerance = PRECISE[self.dtype] if self.precise else roughly(self.dtype, self.loudness)
        times = f", inputs {self.loudness:g} times as large" if self.loudness != 1 else ""
        what = f"in {self.dtype}{times}: output" if times else f"in {self.dtype}, output"
        expected = theirs.call(self.method, **inputs)
        parts = parts_of(context.exercise.interface, expected)
        compare(ours.call(self.method, **inputs), expected, what, tolerance, parts)


class KeepsParameters(Property, frozen=True, tag="keeps_parameters"):
    """The parameters have the reference's names and shapes, no fewer and no more."""

    needs_module: ClassVar[bool] = True

    shows_values: ClassVar[bool] = False

    def try_case(self, context: Context, case: "Case") -> None:
        modules = context.ours(self, case), context.reference.build(case.arguments)
        ours, theirs = (module.shapes() for module in modules)
        missing = ", ".join(f"{name} {shape}" for name, shape in theirs.items() if ours.get(name) != shape)
        extra = ", ".join(f"{name} {shape}" for name, shape in ours.items() if theirs.get(name) != shape)
        if missing or extra:
            text = f"parameters: expected {missing or 'no more'}, saw {extra or 'none of these'}"
            shapes = sorted(ours[name] for name in ours.keys() - theirs.keys())  # their names are the student's to give
            raise Failure("parameters", text, saw=f"{missing}; {shapes}")


class AttributeMatchesReference(Property, frozen=True, tag="attribute_matches_reference"):
    """After a call, a tensor kept in an attribute equals the reference's."""

    needs_module: ClassVar[bool] = True

    name: Name
    """The attribute."""

    def compares_values(self) -> bool:
        """What is kept aside says nothing of what is returned."""
        return False

    def try_case(self, context: Context, case: "Case") -> None:
        ours, theirs = context.pair(self, case)
        ours.call(self.method, **case.inputs)
        theirs.call(self.method, **case.inputs)
        compare(ours.attribute(self.name), theirs.attribute(self.name), f"after a call, the attribute {self.name}")
        if self.method:
            return
        others = {**case.inputs, **{name: value.flip(-1) for name, value in case.tensors().items()}}
        ours.call_each([others], grad=False)
        theirs.call_each([others], grad=False)
        what = f"after a second call, with other inputs and under no_grad, the attribute {self.name}"
        compare(ours.attribute(self.name), theirs.attribute(self.name), what)


class WeightsTransfer(Property, frozen=True, tag="weights_transfer"):
    """The state dict of one module loads into one of other sizes, which then computes what the reference does."""

    needs_module: ClassVar[bool] = True

    to: Sizes
    """The sizes that are others in the module that receives the weights."""

    def argument_problems(self, exercise: "Exercise", sizes: set[str], path: KeyPath) -> Iterator[Problem]:
        for name in self.to:
            yield from unknown_sizes([name], sizes, (*path, "to", name), is_item=False)

    def try_case(self, context: Context, case: "Case") -> None:
        from grader.checks.session import SubjectRaisedError

        ours, theirs = context.pair(self, case)
        other = make_case(context.exercise, self, {**case.sizes, **self.to})
        our_other, their_other = context.ours(self, other), context.reference.build(other.arguments)
        change = ", ".join(f"{name}={case.sizes[name]} into one with {name}={size}" for name, size in self.to.items())
        try:
            our_other.load_from(ours)
        except SubjectRaisedError as error:
            what = f"loading the state dict of a module with {change}"
            raise Failure("transfer", f"{what}: expected it to fit, saw {error}") from None
        their_other.load_from(theirs)
        compare(our_other(**other.inputs), their_other(**other.inputs), "after loading that state dict, output")
