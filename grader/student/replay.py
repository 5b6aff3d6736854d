"""The steps of a failed check that can be repeated: the modules it built, its calls, and the comparison that failed.

This runs where the checks are. Its result is plain data for a process that holds no check and no reference
(`student/script.py`).
"""

from collections.abc import Collection, Iterator
from typing import Any

import torch
from msgspec import Struct, structs

from grader.checks.adapters import adapter_of
from grader.checks.failure import Comparison, Failure, Relation
from grader.checks.outcome import FailureKind
from grader.checks.proxies import MisfitError
from grader.checks.tape import FailedCheck, Step
from grader.sandbox.calling_variants import CallingVariant, GradientMode, Mode, Scale, Sharing, from_plain
from grader.sandbox.probes import calling_variants, name_of, training
from grader.sandbox.protocol import AdapterSpec, Build, Call, TensorValue, Transfer, Value
from grader.sandbox.values import from_python, from_tensor, outputs_of, to_python
from grader.spec.exercise import Exercise

MAX_SHOWN = 60
"""The most elements of a tensor that is printed."""


class Operand(Struct, frozen=True, kw_only=True):
    """The value of a call, or one item of it: the output at an index, or under a key."""

    call: int
    item: int | str | None = None


class Expression(Struct, frozen=True, kw_only=True):
    """An expression in a script, as a format string.

    A field `{}` stands for the next operand, and `{module}` for the name of the last module.
    """

    form: str = "{}"
    operands: tuple[Operand, ...] = ()

    def is_one_value(self) -> bool:
        """Return whether it is an operand, unchanged."""
        return self.form == "{}"

    def then(self, form: str) -> "Expression":
        """Return a form of this expression, such as `{}.float()`."""
        return Expression(form=form.format(self.form), operands=self.operands)


Pairs = list[tuple[Expression, torch.Tensor]]
"""Tensors, each with its expression."""


class BuiltModule(Struct, frozen=True, kw_only=True, tag=True):
    """A module to build; `variation` is source that defines the class `entry`. `parameters` are given weights."""

    number: int
    entry: str
    arguments: dict[str, Value]
    dtype: str = ""
    variation: str = ""
    parameters: dict[str, TensorValue] | None = None


class MadeCall(Struct, frozen=True, kw_only=True, tag=True):
    """A call to make. `number` is that of its value. `variant` is plain where only inputs and mode differ."""

    module: int
    number: int
    arguments: dict[str, Value]
    method: str = ""
    training: bool = False
    grad: bool = True
    variant: CallingVariant = CallingVariant()
    sample_axes: dict[str, int] = {}
    optional: dict[str, Value] = {}
    """Inputs of an earlier call that this call leaves out."""
    other_arguments: list[dict[str, Value]] = []
    """The constructor arguments of other modules, which are called before a rebuilt one."""
    is_small: bool = False
    """Whether the value is small enough to be printed."""
    is_tensor: bool = False
    cotangents: list[TensorValue] = []
    """The check's factors of the outputs in the loss, if it made a backward pass."""
    sources: dict[str, Expression] = {}
    """Expressions of the inputs that are the values of earlier calls."""


class LoadedState(Struct, frozen=True, kw_only=True, tag=True):
    """The state dict of one module, loaded into another."""

    source: int
    target: int


class Ending(Struct, frozen=True, kw_only=True):
    """The comparison that failed."""

    relation: Relation | None = None
    observed: Expression | None = None
    expected: Expression | None = None
    value: Value | None = None
    """The expected value, unless `expected` has its expression."""
    relative: float = 0.0
    absolute: float = 0.0
    axis: int = 0
    places: list[int] = []
    index: list[int] | None = None
    """The index of the element that is furthest off."""
    name: str = ""
    changed: str = ""
    is_exact: bool = True
    code: str = ""
    errors: list[str] = []
    """The last request should raise one of these exceptions."""
    needs_gradients: bool = False


class Replay(Struct, frozen=True, kw_only=True):
    """The steps to repeat, and how they end."""

    adapter: AdapterSpec | None = None
    steps: list[BuiltModule | MadeCall | LoadedState] = []
    ending: Ending = Ending()
    seeds: list[int] = []


def plan_replay(exercise: Exercise, failed: FailedCheck, errors: list[str]) -> Replay:
    """Return the steps to repeat. `errors` are the exceptions that the check accepts, if it expects one."""
    played = list(_play(failed.steps, exercise.interface.inputs))
    ending = _ending(failed, played, errors)
    adapter = adapter_of(exercise.interface)
    steps = _needed(played, ending)
    return Replay(adapter=adapter, steps=steps, ending=ending, seeds=failed.seeds)


class _Played(Struct, frozen=True, kw_only=True):
    """A step to repeat, with the value that it returned in the worker."""

    step: BuiltModule | MadeCall | LoadedState
    value: Any = None
    gradients: dict[str, Any] = {}


def _play(steps: list[Step], inputs: Collection[str]) -> Iterator[_Played]:
    """Yield the modules and single calls of recorded requests. Skip a probe that calls nothing with `inputs`."""
    number = 0
    values: Pairs = []
    built: set[int] = set()
    for step in steps:
        request = step.request
        build = request if isinstance(request, Build) else request.build if isinstance(request, Call) else None
        if build is not None and build.module not in built:  # a call repeats a build that raised
            built.add(build.module)
            yield _Played(step=_built(build))
        if isinstance(request, Transfer):
            yield _Played(step=LoadedState(source=request.source, target=request.target))
        if not isinstance(request, Call) or (request.probe and not {*request.arguments} & {*inputs}):
            continue
        for call, value in _calls(request, step.values):
            made = structs.replace(
                call,
                number=number,
                is_small=_is_small(value),
                is_tensor=isinstance(value, torch.Tensor),
                sources=_sources(call.arguments, values),
            )
            made_and_value = _Played(step=made, value=value, gradients=step.gradients)
            values = [*_parts(made_and_value), *values]
            yield made_and_value
            number += 1


def _built(build: Build) -> BuiltModule:
    return BuiltModule(
        number=build.module,
        entry=build.entry,
        arguments=build.arguments,
        dtype=build.dtype,
        variation=build.variation,
        parameters=build.parameters,
    )


def _calls(request: Call, values: list[Any]) -> Iterator[tuple[MadeCall, Any]]:
    """Yield the single calls of a request, each with its value; None if it returned none."""
    if request.probe == name_of(calling_variants.call_in_variants):
        yield from _calls_in_variants(request, values)
        return
    usual = MadeCall(
        module=request.module,
        number=0,
        arguments=request.arguments,
        method=request.method,
        training=request.training,
        grad=request.grad,
        cotangents=request.cotangents or [],
    )
    if request.probe == name_of(training.call_in_inference_mode):
        variant = CallingVariant(gradients=GradientMode.INFERENCE_MODE)
        usual = structs.replace(usual, method=to_python(request.options["called"]), variant=variant)
    for index, more in enumerate([{}, *(request.more or [])]):
        value = values[index] if index < len(values) else None
        yield structs.replace(usual, arguments={**request.arguments, **more}), value


def _calls_in_variants(request: Call, values: list[Any]) -> Iterator[tuple[MadeCall, Any]]:
    """Yield the calls of a request to call a module in calling variants."""
    options = {name: to_python(value) for name, value in request.options.items()}
    returned = values[0] if values and isinstance(values[0], list) else []
    inputs = {name: to_python(value) for name, value in request.arguments.items()}
    for index, call in enumerate(from_plain(options["calls"])[: len(returned) + 1]):
        given = calling_variants.inputs_of(call, inputs, options["others"], options["shared"], options["scales"])
        made = MadeCall(
            module=request.module,
            number=0,
            arguments={name: from_python(each) for name, each in given.items()},
            method=options["called"],
            training=request.training or call.variant.mode is Mode.TRAINING,
            variant=structs.replace(call.variant, mode=Mode.UNCHANGED, sharing=Sharing.SEPARATE, scale=Scale.USUAL),
            sample_axes=options["sample_axes"],
            optional={
                name: from_python(each)
                for name, each in calling_variants.optional_of(call.variant, options["optional"]).items()
            },
            other_arguments=[
                {name: from_python(each) for name, each in arguments.items()}
                for arguments in options["other_arguments"]
            ],
        )
        value = returned[index] if index < len(returned) else None
        yield made, value[0] if value is not None and call.compares_gradients else value


def _is_small(value: Any) -> bool:
    return sum(each.numel() for each in outputs_of(value) if isinstance(each, torch.Tensor)) <= MAX_SHOWN


def _ending(failed: FailedCheck, played: list[_Played], errors: list[str]) -> Ending:
    error = failed.error
    if isinstance(error, MisfitError):
        shapes = {
            name: list(value.shape)
            for each in played
            if isinstance(each.step, BuiltModule)
            for name, value in (each.step.parameters or {}).items()
        }
        return Ending(relation=Relation.PARAMETERS, value=from_python(shapes), is_exact=False)
    if not isinstance(error, Failure):
        return Ending()
    if error.finding.kind is FailureKind.NOT_REFUSED:
        return Ending(errors=errors)
    comparison = error.comparison
    if comparison is None:
        return Ending()
    return _ending_of(comparison, played, error)


def _ending_of(comparison: Comparison, played: list[_Played], error: Failure) -> Ending:
    """Return the ending for a comparison; without a relation if its values do not come from the calls."""
    relation = comparison.relation
    plain = Ending(
        relation=relation,
        relative=comparison.relative,
        absolute=comparison.absolute,
        axis=comparison.axis,
        places=comparison.places,
        index=None if error.wrong is None else error.wrong.index,
        name=comparison.name,
        changed=comparison.changed,
        is_exact=comparison.is_exact,
        code=comparison.code,
        needs_gradients=relation is Relation.GRADIENT,
    )
    if relation is Relation.GRADIENT:
        if error.finding.calling_variant is not None:
            return Ending()  # a script makes a backward pass only after plain calls
        return structs.replace(plain, observed=_gradient(comparison.name, is_input=comparison.is_input))
    if relation in (Relation.CODE, Relation.DIFFERENT):
        return plain
    if relation is Relation.PARAMETERS:
        shapes = {name: list(shape) for name, shape in comparison.expected.items()}
        return structs.replace(plain, value=from_python(shapes))
    observed, is_gradient = _expression(comparison.observed, played)
    if observed is None:
        return Ending()
    plain = structs.replace(plain, observed=observed, needs_gradients=is_gradient)
    if isinstance(comparison.expected, torch.Tensor):
        expected, _ = _expression(comparison.expected, played)
        if expected is not None and expected != observed:
            return structs.replace(plain, expected=expected)
        return structs.replace(plain, value=from_tensor(comparison.expected))
    return structs.replace(plain, value=from_python(comparison.expected))


def _sources(arguments: dict[str, Value], values: Pairs) -> dict[str, Expression]:
    """Return expressions of the inputs that are the values of earlier calls."""
    sources = {}
    for name, value in arguments.items():
        tensor = to_python(value)
        if not isinstance(tensor, torch.Tensor) or tensor.numel() == 1:
            continue
        for expression, earlier in values:
            if earlier.dtype == tensor.dtype and torch.equal(earlier.flatten(), tensor.flatten()):
                sources[name] = expression.then(f"{{}}.detach().view({', '.join(map(str, tensor.shape))})")
                break
    return sources


def _expression(tensor: Any, played: list[_Played]) -> tuple[Expression | None, bool]:
    """Return an expression of a tensor by the values of calls, or None; and whether the tensor is a gradient."""
    if not isinstance(tensor, torch.Tensor):
        return None, False
    last = next((each for each in reversed(played) if each.gradients), None)
    for name, gradient in (last.gradients if last else {}).items():
        if gradient is tensor:
            assert isinstance(last, _Played)
            assert isinstance(last.step, MadeCall)
            return _gradient(name, is_input=name in last.step.arguments), True
    values = [pair for each in reversed(played) for pair in _parts(each)]
    if same := next((expression for expression, value in values if value is tensor), None):
        return same, False  # other calls may have returned equal values
    for candidates in (lambda: values, lambda: _changed(values), lambda: _joined(values)):
        for expression, value in candidates():
            if _is_equal(value, tensor):
                return expression, False
    return None, False


def _gradient(name: str, *, is_input: bool) -> Expression:
    """Return the expression of an input's or a parameter's gradient."""
    return Expression(form=f"{name}.grad" if is_input else f"{{module}}.get_parameter({name!r}).grad")


def _parts(played: _Played) -> Iterator[tuple[Expression, torch.Tensor]]:
    """Yield the tensors in a call's value, each with its expression."""
    if not isinstance(played.step, MadeCall):
        return
    value = played.value
    items: list[tuple[int | str | None, Any]] = [(None, value)]
    if isinstance(value, tuple | list):
        items = [*enumerate(value)]
    elif isinstance(value, dict):
        items = [*value.items()]
    for item, each in items:
        if isinstance(each, torch.Tensor):
            yield Expression(operands=(Operand(call=played.step.number, item=item),)), each


def _changed(values: Pairs) -> Iterator[tuple[Expression, torch.Tensor]]:
    """Yield simple functions of one value: flipped, summed, cut, in float32."""
    for one, value in values:
        yield one.then("{}.float()"), value.float()
        for axis in range(value.dim()):
            yield one.then(f"{{}}.flip({axis})"), value.flip(axis)
            yield one.then(f"{{}}.sum({axis})"), value.sum(axis)
            for kept in range(1, value.size(axis)):
                yield one.then(f"{{}}.narrow({axis}, 0, {kept})"), value.narrow(axis, 0, kept)


def _joined(values: Pairs) -> Iterator[tuple[Expression, torch.Tensor]]:
    """Yield simple functions of two values: their difference, and one after the other."""
    for one, value in values:
        for another, other in values:
            if one == another or value.dim() != other.dim():
                continue
            operands = one.operands + another.operands
            if value.shape == other.shape and value.dtype == other.dtype:
                yield Expression(form="({} - {})", operands=operands), value - other
            for axis in range(value.dim()):
                sizes = ([*each.shape[:axis], *each.shape[axis + 1 :]] for each in (value, other))
                if len({tuple(each) for each in sizes}) == 1:
                    both = torch.cat([value, other], axis)
                    yield Expression(form=f"torch.cat([{{}}, {{}}], {axis})", operands=operands), both


def _is_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)


def _needed(played: list[_Played], ending: Ending) -> list[BuiltModule | MadeCall | LoadedState]:
    """Return the steps up to the last step that the ending needs. Omit independent calls that it does not need."""
    steps = [each.step for each in played]
    calls = [each for each in steps if isinstance(each, MadeCall)]
    operands = [operand for each in (ending.observed, ending.expected) if each for operand in each.operands]
    named = [operand.call for operand in operands]
    if not named:
        return _of_the_last(steps, calls, ending)
    end = max(steps.index(each) for each in calls if each.number in named)
    modules = {each.module for each in calls if each.number in named}
    stands_alone = ending.relation in (Relation.UNCHANGED, Relation.CHANGED)
    variants = [each for each in calls if each.number in named and each.variant.changes()]

    def is_needed(step: BuiltModule | MadeCall | LoadedState) -> bool:
        if isinstance(step, BuiltModule):
            return step.number in modules
        if isinstance(step, LoadedState):
            return {step.source, step.target} <= modules
        return step.number in named or (step.module in modules and not (stands_alone or variants))

    return [each for each in steps[: end + 1] if is_needed(each)]


def _of_the_last(
    steps: list[BuiltModule | MadeCall | LoadedState], calls: list[MadeCall], ending: Ending
) -> list[BuiltModule | MadeCall | LoadedState]:
    """Return the steps of the last module: its build, its calls, and the modules whose state it loads.

    If the ending is an expression of many calls, return all steps.
    """
    if ending.relation is Relation.CODE:
        return steps
    is_in_variant = bool(calls) and bool(calls[-1].variant.changes())
    loads = [each for each in steps if isinstance(each, LoadedState)]
    modules = [each.target for each in loads] or [each.number for each in steps if isinstance(each, BuiltModule)]
    last = calls[-1].module if is_in_variant else next(reversed(modules), None)
    sources = {each.source for each in loads if each.target == last}

    def is_needed(step: BuiltModule | MadeCall | LoadedState) -> bool:
        if isinstance(step, BuiltModule):
            return step.number == last or step.number in sources
        if isinstance(step, LoadedState):
            return step.target == last
        return step is calls[-1] if is_in_variant else step.module == last

    return [each for each in steps if is_needed(each)]
