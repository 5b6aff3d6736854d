"""The script of a trial: Python that repeats a failed check without the kit, on torch and the student's file alone.

An adapter that `student/experiments.py` does not write out is the exception: its script imports the adapter.
Weights and inputs are drawn from the check's own seed where this gives the check's numbers (`student/draws.py`), else
written out. This runs in the student's own process.
"""

import keyword
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from msgspec import Struct, structs

from grader.checks.failure import Relation
from grader.sandbox.calling_variants import Arguments, Dtype, History, MemoryLayout
from grader.sandbox.probes import PROBES
from grader.sandbox.probes.calling_variants import BUILT_BY_POSITION, NEEDS_NEW_MODULE
from grader.sandbox.protocol import TensorValue, Value
from grader.sandbox.subject import Entry
from grader.sandbox.values import to_python
from grader.spec.exercise import Exercise
from grader.student.draws import Draws
from grader.student.experiments import EXPERIMENTS, Experiment, ExperimentCall
from grader.student.literals import as_change, difference, literal
from grader.student.replay import BuiltModule, Ending, Expression, LoadedState, MadeCall, Operand, Replay

MANY = 400
"""If a tensor has more elements than this, the script of a crash draws other numbers instead of writing the tensor as a
literal."""

FEW_CALLS = 3
"""More equal calls than this are made in a loop."""


class Script(Struct, frozen=True, kw_only=True):
    """A script: the imports, and the steps up to the failed comparison."""

    imports: list[str]
    steps: list[str]

    def text(self) -> str:
        """Return the whole script."""
        return "\n".join([*self.imports, "", *self.steps]) + "\n"


def write_script(exercise: Exercise, replay: Replay, module: ModuleType, path: Path, sentence: str) -> Script:
    """Return the script for the student's file, which is imported as `module`. It ends with the failed comparison."""
    writer = _Writer(exercise, replay, module, path, sentence)
    return Script(imports=list(writer.imports()), steps=list(writer.steps()))


class _Writer:
    """Writes a script."""

    def __init__(self, exercise: Exercise, replay: Replay, module: ModuleType, path: Path, sentence: str) -> None:
        self._exercise, self._replay, self._path = exercise, replay, path
        self._sentence = sentence
        self._names: dict[tuple[Any, ...], str] = {}
        """The variable of each tensor, by its content."""
        self._used: dict[str, Value] = {}
        """The variables of inputs."""
        self._modules: dict[int, str] = {}
        self._calls = [each for each in replay.steps if isinstance(each, MadeCall)]
        builds = [each for each in replay.steps if isinstance(each, BuiltModule)]
        self._has_one_module = len(builds) == 1
        self._builds = {each.number: each for each in builds}
        self._mode: dict[int, bool] = {}
        self._outs: dict[int, str] = {}
        self._kept: set[str] = set()
        """The inputs that a call in a calling variant has changed, each with its first value in another variable."""
        adapter = None if any(each.variation for each in builds) else replay.adapter  # a variation is a module
        experiment = EXPERIMENTS.get(adapter.module) if adapter is not None else None
        can_repeat = experiment is not None and all(map(experiment.can_repeat, map(_constructor_arguments, builds)))
        self._experiment = experiment if can_repeat else None
        self._kit_adapter = adapter if self._experiment is None else None
        """The adapter that the script imports from the kit."""
        self._draws = Draws(replay.seeds, module, self._kit_adapter)

    def imports(self) -> Iterator[str]:
        """Yield the lines that import modules, the student's file among them."""
        if not self._is_importable:
            yield "import importlib"
        yield "import sys"
        if any(each.variant.history is History.COPIED for each in self._calls):
            yield "import copy"
        if any(each.variant.history is History.REBUILT for each in self._calls):
            yield "import contextlib"
        yield from self._experiment.imports if self._experiment else ()
        yield ""
        yield "import torch"
        if self._kit_adapter is not None:
            yield f"from {PROBES[self._kit_adapter.module].__name__} import Adapter"
            yield f"from {Entry.__module__} import {Entry.__name__}"
        yield ""
        yield f"sys.path.insert(0, {str(self._path.parent)!r})"
        name, entry = self._path.stem, self._exercise.interface.entry()
        if not self._is_importable:
            yield f"submission = importlib.import_module({name!r})"
            yield f"{entry} = submission.{entry}"
            return
        if any(each.variation for each in self._builds.values()):
            yield f"import {name} as submission"
        yield f"from {name} import {entry}"

    @property
    def _is_importable(self) -> bool:
        """Return whether an `import` statement may name the student's file."""
        return self._path.stem.isidentifier() and not keyword.iskeyword(self._path.stem)

    def steps(self) -> Iterator[str]:
        """Yield the lines that repeat the check."""
        ending = self._replay.ending
        if ending.relation is Relation.CODE:
            yield "outs = []"
        yield from self._inputs()
        if ending.errors:
            yield from self._refusal(ending.errors)
            return
        yield from self._replayed()
        yield from self._comparison(ending)

    # inputs

    def _inputs(self) -> Iterator[str]:
        """Define the inputs of all calls, in the order in which the check drew them."""
        for call in self._calls:
            for name, value in (*call.arguments.items(), *call.optional.items()):
                if isinstance(value, TensorValue) and name not in call.sources:
                    yield from self._input(name, value)

    def _input(self, name: str, value: TensorValue) -> Iterator[str]:
        key = _key(value)
        if key in self._names:
            return
        first = self._used.get(name)
        variable = name if first is None else self._free_name(name)
        self._used[variable] = value
        self._names[key] = variable
        tensor = to_python(value)
        if isinstance(first, TensorValue) and (lines := as_change(variable, name, tensor, to_python(first))):
            yield from lines
            return
        draw = self._draws.draw_of(tensor)
        if draw is None and self._replay.ending.relation is None and _is_long(tensor):
            yield f"{variable} = torch.randn({', '.join(map(str, tensor.shape))})  # the check has other numbers"
            return
        if draw is None:
            yield f"{variable} = {literal(tensor)}"
            return
        seed, code = draw
        if seed is not None:
            yield f"torch.manual_seed({seed})"
        yield f"{variable} = {code}"

    def _free_name(self, name: str) -> str:
        number = 2
        while f"{name}{number}" in self._used:
            number += 1
        return f"{name}{number}"

    # modules

    def _replayed(self) -> Iterator[str]:
        for step in self._replay.steps:
            if isinstance(step, MadeCall) and step.number in self._outs:
                continue  # one of several equal calls
            if isinstance(step, BuiltModule):
                if self._experiment is None:
                    yield from self._build(step)
            elif isinstance(step, LoadedState):
                yield f"{self._modules[step.target]}.load_state_dict({self._modules[step.source]}.state_dict())"
            elif self._experiment is not None:
                yield from self._call_in_experiment(self._experiment, step)
            else:
                yield from self._call(step)

    def _constructor_call(self, step: BuiltModule, *, by_position: bool = False) -> str:
        values = _constructor_arguments(step)
        listed = [repr(each) if by_position else f"{name}={each!r}" for name, each in values.items()]
        if self._kit_adapter is None:
            return f"{step.entry}({', '.join(listed)})"
        inputs, is_free = tuple(self._kit_adapter.inputs), self._kit_adapter.by_position
        listed = [f"Entry(call={step.entry}, inputs={inputs!r}, by_position={is_free})", *listed]
        return f"Adapter({', '.join(listed)})"

    def _build(self, step: BuiltModule) -> Iterator[str]:
        name = "module" if self._has_one_module else f"module{len(self._modules) + 1}"
        self._modules[step.number] = name
        self._mode[step.number] = True
        if step.variation:
            yield from ("", "", *step.variation.splitlines(), "", "")
        if shapes := self._draws.further_inputs(step):
            yield f"unused = [torch.randn(shape) for shape in {shapes} * 2]  # the inputs of further calls"
        has_comparison = self._replay.ending.relation is not None
        # a crash hardly depends on weights, which would fill pages
        seed, weights = self._draws.weights(step, needs_values=has_comparison)
        if seed is not None:
            yield f"torch.manual_seed({seed})"
        yield f"{name} = {self._constructor_call(step)}"
        if step.dtype:
            yield f"{name} = {name}.to(torch.{step.dtype})"
        for parameter, value in weights.items():
            yield f"{name}.get_parameter({parameter!r}).data = {literal(value)}"

    # calls

    def _call(self, call: MadeCall) -> Iterator[str]:
        name = self._modules[call.module]
        arguments = self._arguments(call)
        if self._mode.get(call.module) is not call.training:
            self._mode[call.module] = call.training
            yield f"{name}.{'train' if call.training else 'eval'}()"
        if call.variant.changes():
            yield from self._call_in_variant(call, arguments)
            return
        if self._replay.ending.needs_gradients and call is self._calls[-1]:
            yield from (f"{each}.requires_grad_()" for each in dict.fromkeys(self._float_inputs(call)))
        method = f".{call.method}" if call.method else ""
        text = ", ".join(f"{key}={each}" for key, each in arguments.items())
        equal = self._equal_calls(call)
        if len(equal) > FEW_CALLS:
            yield f"outs = [{name}{method}({text}) for _ in range({len(equal)})]"
            self._outs |= {each.number: f"outs[{index}]" for index, each in enumerate(equal)}
            return
        yield from self._assigned(call, f"{name}{method}({text})", is_without_gradients=not call.grad)

    def _equal_calls(self, call: MadeCall) -> list[MadeCall]:
        """Return a call and the equal calls right after it; only the call if a hidden test wrote the comparison."""
        following = self._calls[self._calls.index(call) :]

        def is_equal(other: MadeCall) -> bool:
            return structs.replace(other, number=call.number, sources={}) == structs.replace(call, sources={})

        return [call] if self._replay.ending.relation is Relation.CODE else [*takewhile(is_equal, following)]

    def _assigned(
        self, call: MadeCall, code: str, *, is_without_gradients: bool = False, is_printed: bool = True
    ) -> Iterator[str]:
        """Assign a call's value to a variable, and print it if it is small and `is_printed`."""
        if self._replay.ending.relation is Relation.CODE:
            name, assigned = f"outs[{call.number}]", f"outs.append({code})"
        else:
            name = self._name_of_out()
            assigned = f"{name} = {code}"
        self._outs[call.number] = name
        if is_without_gradients:
            yield "with torch.no_grad():"
            yield f"    {assigned}"
        else:
            yield assigned
        if is_printed and self._is_short_enough(call):
            shown = f"{name}.detach()" if call.is_tensor else name
            yield f'print("{name} =", {shown})'

    def _name_of_out(self) -> str:
        """Return a new name for what the next call returns."""
        return "out" if len(self._calls) == 1 else f"out{len(self._outs) + 1}"

    def _is_short_enough(self, call: MadeCall) -> bool:
        return call.is_small and (len(self._calls) <= 3 or call is self._calls[-1])  # noqa: PLR2004 - enough to look at

    def _arguments(self, call: MadeCall) -> dict[str, str]:
        """Return the arguments of a call as expressions."""
        return {
            name: self._filled(call.sources[name]) if name in call.sources else self._argument(value)
            for name, value in call.arguments.items()
        }

    def _argument(self, value: Value) -> str:
        if isinstance(value, TensorValue):
            return self._names[_key(value)]
        return repr(to_python(value))

    def _call_in_variant(self, call: MadeCall, arguments: dict[str, str]) -> Iterator[str]:
        name, variant, build = self._modules[call.module], call.variant, self._builds[call.module]
        history, is_double = variant.history, variant.dtype is Dtype.FLOAT64
        tensors = {key: self._argument(each) for key, each in call.arguments.items() if isinstance(each, TensorValue)}
        yield from self._inputs_as_given(dict.fromkeys(tensors.values()))
        is_converted = history is History.CONVERTED
        laid_out = [
            line
            for key, variable in tensors.items()
            for line in _laid_out(variable, variant.layout, call.sample_axes.get(key))
        ]
        yield from [] if is_double and not is_converted else laid_out
        by_position = variant.arguments is Arguments.BY_POSITION
        text = ", ".join(arguments.values() if by_position else (f"{k}={v}" for k, v in arguments.items()))
        method = f".{call.method}" if call.method else ""
        if history in NEEDS_NEW_MODULE:
            constructed = self._constructor_call(build, by_position=history in BUILT_BY_POSITION)
            yield f"old, {name} = {name}, {constructed}"
            yield f"{name}.load_state_dict(old.state_dict())"
            yield f"{name}.train(old.training)"
        if is_double and not is_converted:
            yield f"{name} = {name}.double()"
        finer = "double() * (1 - 2**-26)"  # as the probe `finer` does, with digits that float32 has not
        floats = [each for each in dict.fromkeys(tensors.values()) if self._is_float(each)]
        in_float64 = [*(f"{each} = {each}.{finer}" for each in floats), *laid_out]  # a product is laid out anew
        if is_double and not is_converted:
            yield from in_float64
        if history is History.REBUILT:
            for other_arguments in call.other_arguments:
                other = self._constructor_call(structs.replace(build, arguments=other_arguments))
                converted = f"{other}.double()" if is_double else other
                yield "with contextlib.suppress(Exception), torch.no_grad():  # the inputs may not fit another module"
                yield f"    {converted}.train({not call.training}){method}({text})"
        yield from self._prepared_for_variant(call, name, f"{method}({text})")
        yield from in_float64 if is_converted else []
        code = f"{name}{method}({text})"
        out = self._name_of_out()
        self._outs[call.number] = out
        if variant.gradients:
            yield f"with torch.{variant.gradients}():"
        indent = "    " * bool(variant.gradients)
        yield f"{indent}{out} = {code}"
        if history is History.AFTER_OTHERS:
            rolled = {key: f"{each}.roll(1, -1)" for key, each in arguments.items() if self._is_float(each)}
            later = (f"{key}={rolled.get(key, each)}" for key, each in arguments.items())
            yield f"{indent}{name}{method}({', '.join(later)})  # other values in other tensors"
        if call.is_small:
            yield f'print("{out} =", {out}.detach())' if call.is_tensor else f'print("{out} =", {out})'

    def _inputs_as_given(self, variables: Iterable[str]) -> Iterator[str]:
        """Yield the lines that keep inputs if several calls are made in calling variants, and that restore them."""
        if sum(bool(each.variant.changes()) for each in self._calls) > 1:
            for variable in variables:
                yield f"{variable} = given_{variable}" if variable in self._kept else f"given_{variable} = {variable}"
                self._kept.add(variable)

    def _prepared_for_variant(self, call: MadeCall, name: str, code: str) -> Iterator[str]:
        """Yield the lines that prepare the module for a calling variant; `code` is the call without the module."""
        history = call.variant.history
        indent = "    " if history is History.INFERENCE_FIRST else ""
        if indent:
            yield "with torch.inference_mode():"
        if history in (History.MODES, History.INFERENCE_FIRST):
            yield f"{indent}for mode in ({not call.training}, {call.training}):"
            yield f"{indent}    {name}.train(mode){code}"
        if history is History.CONVERTED:
            yield f"{name}{code}"
            yield f"{name} = {name}.double()"
        if history is History.COPIED:
            yield f"{name} = copy.deepcopy({name}).requires_grad_(False)"
        if history is History.AFTER_OTHERS:
            inputs = ", ".join(self._float_inputs(call))
            yield f"weights = [*{name}.parameters()]"
            yield f"before = [each.detach().clone() for each in [{inputs}, *weights]]"
            yield f"for each in [{inputs}]:"
            yield "    each.copy_(each.clone().roll(1, -1))"
            yield "for each in weights:"
            yield "    each.data *= torch.linspace(-1.0, 0.5, each.numel(), dtype=each.dtype).view(each.shape)"
            yield f"{name}{code}  # other values in the same tensors"
            yield f"for each, value in zip([{inputs}, *weights], before):"
            yield "    each.data.copy_(value)"
            if call.optional:
                more = ", ".join(f"{key}={self._argument(value)}" for key, value in call.optional.items())
                yield f"{name}{code.removesuffix(')')}, {more})  # inputs that the next call leaves out"

    def _float_inputs(self, call: MadeCall) -> list[str]:
        """Return the variables of a call's floating-point inputs."""
        values = [each for each in call.arguments.values() if isinstance(each, TensorValue)]
        return [self._argument(each) for each in values if "float" in each.dtype]

    def _is_float(self, variable: str) -> bool:
        value = self._used.get(variable)
        return isinstance(value, TensorValue) and "float" in value.dtype

    def _call_in_experiment(self, experiment: Experiment, call: MadeCall) -> Iterator[str]:
        """Repeat a call of an adapter."""
        build = self._builds.get(call.module)
        made = ExperimentCall(
            call=call,
            entry=self._exercise.interface.entry(),
            inputs=self._arguments(call),
            constructor={} if build is None else _constructor_arguments(build),
            parameters={} if build is None else build.parameters or {},
            observed=self._replay.ending.observed,
        )
        yield from experiment.lines(made)
        yield from self._assigned(call, experiment.value(made), is_printed=experiment.prints_value)

    # endings

    def _refusal(self, errors: list[str]) -> Iterator[str]:
        """Make the steps, and fail unless one raises."""
        yield "try:"
        yield from (f"    {line}" for line in self._replayed())
        yield f"except ({', '.join(errors)},) as error:"
        yield '    print("raised:", error)'
        yield "else:"
        yield f"    raise AssertionError({self._sentence!r})"

    def _comparison(self, ending: Ending) -> Iterator[str]:
        observed, expected = (self._filled(each) for each in (ending.observed, ending.expected))
        value: Any = None if ending.value is None else to_python(ending.value)
        message = repr(self._sentence)
        match ending.relation:
            case Relation.CODE:
                yield f"assert {ending.code}, {message}"
            case Relation.GRADIENT:
                yield from self._gradient(ending, message)
            case Relation.DIFFERENT:
                names = [self._outs[each.number] for each in self._calls]
                yield f"assert any(not torch.equal({names[0]}, each) for each in ({', '.join(names[1:])},)), {message}"
            case Relation.PARAMETERS:
                yield f"shapes = {{name: [*each.shape] for name, each in {self._last_module()}.named_parameters()}}"
                yield "print(shapes)"
                holds = f"shapes == {value!r}" if ending.is_exact else f"shapes.items() >= {value!r}.items()"
                yield f"assert {holds}, {message}"
            case Relation.SHAPE | Relation.DTYPE | Relation.FINITE:
                yield f'print("shape and dtype:", tuple({observed}.shape), {observed}.dtype)'
                yield f"assert {_form(ending.relation, observed, value)}, {message}"
            case Relation.UNCHANGED | Relation.CHANGED:
                yield from self._movement(ending, observed, expected, message)
            case Relation.CLOSE:
                yield from self._closeness(ending, observed, expected, value, message)
            case None if self._sentence:
                yield f"# {' '.join(self._sentence.split())}"

    def _filled(self, expression: Expression | None) -> str:
        """Put the names of variables into an expression; empty if there is none."""
        if expression is None:
            return ""
        return expression.form.format(*map(self._operand, expression.operands), module=self._last_module())

    def _operand(self, operand: Operand) -> str:
        item = operand.item
        if isinstance(item, int) and self._experiment is not None:
            item = self._experiment.index(self._calls[-1], self._replay.ending.observed, item)
        return self._outs.get(operand.call, "out") + ("" if item is None else f"[{item!r}]")

    def _last_module(self) -> str:
        return [*self._modules.values(), "module"][max(len(self._modules) - 1, 0)]

    def _gradient(self, ending: Ending, message: str) -> Iterator[str]:
        out = self._outs[self._calls[-1].number]
        yield from _backward(out, [])
        yield f"gradient = {self._filled(ending.observed)}"
        yield f'print("the gradient of {ending.name}:", gradient)'
        yield f"assert gradient is not None and bool((gradient != 0).any()), {message}"

    def _movement(self, ending: Ending, observed: str, expected: str, message: str) -> Iterator[str]:
        axis = ending.axis
        first = "" if axis == 0 else f".movedim({axis}, 0)"
        yield f"moved = ({observed} - {expected}).detach().abs(){first}.flatten(1).amax(1)"
        changed = f"[place for place, by in enumerate(moved.tolist()) if by > {ending.absolute:.3g}]"
        which = self._what_changed(ending.changed)
        yield f'print("{which} changed; the output changed at {ending.name}", {changed}, "by:", moved)'
        holds = f"moved[{ending.places}].max() <= {ending.absolute:.3g}"
        if ending.relation is Relation.CHANGED:
            holds = f"moved[{ending.places}].max() > {ending.absolute:.3g}"
        yield f"assert {holds}, {message}"

    def _what_changed(self, unit: str) -> str:
        """Return the place in which the inputs of the two calls differ: a token, a sample, or another unit."""
        one, other = self._calls[-2:] if len(self._calls) > 1 else (self._calls[-1],) * 2
        for name, value in one.arguments.items():
            changed = other.arguments.get(name)
            if isinstance(value, TensorValue) and isinstance(changed, TensorValue) and value != changed:
                place = difference(to_python(changed), to_python(value))
                if place is not None:
                    return f"{unit} {place[1]}"
        return "the input"

    def _closeness(self, ending: Ending, observed: str, expected: str, value: Any, message: str) -> Iterator[str]:
        if ending.needs_gradients:
            yield from _backward(self._outs[self._calls[-1].number], self._calls[-1].cotangents)
        if not expected:
            yield f"expected = {literal(value)}" if isinstance(value, torch.Tensor) else f"expected = {value!r}"
            expected = "expected"
        if isinstance(value, bool | int | str | None) and not self._replay.ending.expected:
            yield f"assert {observed} == {expected}, {message}"
            return
        if ending.index:
            place = ", ".join(map(str, ending.index))
            numbers = f"{observed}[{place}].item(), {expected}[{place}].item()"
            yield f'print("{self._place(ending.index)}: %.6g, expected %.6g" % ({numbers}))'
        tolerance = f"rtol={ending.relative:.3g}, atol={ending.absolute:.3g}, equal_nan=True"
        yield f"assert torch.allclose({observed}, {expected}, {tolerance}), {message}"

    def _place(self, index: list[int]) -> str:
        """Return where in a value an element is, with the names of the interface's axes for an output."""
        interface = self._exercise.interface
        shapes = [each for each in interface.outputs if len(each) == len(index)]
        observed = self._replay.ending.observed
        is_output = interface.kind.returns_outputs and not self._replay.ending.needs_gradients
        if not (is_output and shapes and observed and observed.is_one_value()):
            return f"at {index}"
        names = (each if isinstance(each, str) else "axis" for each in shapes[0])
        return "at " + ", ".join(f"{name} {number}" for name, number in zip(names, index, strict=True))


def _form(relation: Relation, observed: str, value: Any) -> str:
    """Return the comparison of a form."""
    if relation is Relation.SHAPE:
        return f"list({observed}.shape) == {value!r}"
    return f"{observed}.dtype == torch.{value}" if relation is Relation.DTYPE else f"{observed}.isfinite().all()"


def _backward(out: str, cotangents: list[TensorValue]) -> Iterator[str]:
    """Make a backward pass with the given factors of the outputs, or with random ones."""
    yield f"values = [each for each in ({out} if isinstance({out}, tuple) else [{out}]) if each.is_floating_point()]"
    if cotangents:
        yield f"factors = [{', '.join(literal(to_python(each)) for each in cotangents)}]"
    else:
        yield "torch.manual_seed(0)"
        yield "factors = [torch.randn(each.shape) for each in values]"
    yield "sum((each * factor).sum() for each, factor in zip(values, factors) if each.requires_grad).backward()"


def _constructor_arguments(build: BuiltModule) -> dict[str, Any]:
    return {name: to_python(each) for name, each in build.arguments.items()}


def _key(value: TensorValue) -> tuple[Any, ...]:
    return value.dtype, tuple(value.shape), value.data


def _is_long(tensor: torch.Tensor) -> bool:
    return tensor.dtype is torch.float32 and tensor.numel() > MANY


def _laid_out(variable: str, layout: MemoryLayout, axis: int | None) -> Iterator[str]:
    if layout is MemoryLayout.TRANSPOSED:
        yield f"{variable} = {variable}.transpose(0, -1).contiguous().transpose(0, -1)"
    if layout is MemoryLayout.EXPANDED and axis is not None:
        yield f"{variable} = {variable}.narrow({axis}, 0, 1).expand({variable}.shape)"
