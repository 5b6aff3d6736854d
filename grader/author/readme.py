"""The README of a new exercise: the story, and the contract, as far as the reference and the checks show it.

The places that only the author can fill in begin with `BLANK`.
"""

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.author.interface import FoundInterface, read_interface
from grader.author.parameters import Parameter, name_of, parameters_of, signature_of
from grader.report.property_words import words_for
from grader.report.rendering import text_templates
from grader.spec.exercise import Exercise
from grader.spec.fields import shape_of
from grader.spec.problem import blank, listed
from grader.spec.properties import (
    CallsInTurn,
    FutureDoesNotLeak,
    KeepsDtype,
    KeepsStateDict,
    LeavesInputsAlone,
    MatchesReference,
    Property,
    Raises,
    SamplesDoNotMix,
)

WIDTH = 120
"""The columns at which the page's sentences are wrapped."""

MAX_LAYER = 100
"""The author describes a layer whose code has more characters."""


def write_readme(exercise: Exercise, module: str, reference: str, starter: str) -> str:
    """Return the exercise's README; `module` is the name of the file to edit.

    Where the constructor of the reference differs from the starter's, its code would give the answer away, so the
    author describes it.
    """
    interface, kind = exercise.interface, exercise.interface.kind
    found = read_interface(reference, kind, interface.entry())
    in_starter = read_interface(starter, kind, interface.entry())
    signature = f"{interface.entry()}({_arguments(exercise, found, in_starter)})"
    computes = blank(
        f"what `{interface.called()}` computes: somebody who has never seen the code can write it from this"
    )
    promises = [] if found is None else [computes, *dict.fromkeys(_promises(exercise, found))]
    template = text_templates("grader.author", trim_blocks=True).get_template("readme.md.j2")
    return template.render(
        exercise=exercise,
        kind=kind,
        module=module,
        notebook=f"{Path(module).stem}.ipynb",
        introduction=_wrapped(f"`{signature}` is {kind.described}. {_summary(reference, interface.entry())}".strip()),
        rows=[*_rows(exercise, found), *_layer_rows(exercise, reference, starter)],
        promises=[_wrapped(f"- {promise}", indent="  ") for promise in promises],
    )


def _wrapped(text: str, *, indent: str = "") -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _summary(reference: str, entry: str) -> str:
    """Return the first paragraph of the docstring of the class or function; empty if it has none."""
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.parse(reference).body:
        if isinstance(node, definitions) and node.name == entry and (text := ast.get_docstring(node)):
            return " ".join(text.split("\n\n")[0].split())
    return ""


# the signature and the table


def _arguments(exercise: Exercise, found: FoundInterface | None, in_starter: FoundInterface | None) -> str:
    """Return the arguments of the class or function as the reference has them, without defaults that only it has."""
    other = in_starter.entry if in_starter else None
    return signature_of(found.entry, other, is_method=not exercise.interface.function) if found else ""


def _rows(exercise: Exercise, found: FoundInterface | None) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table: inputs, outputs, arguments that no shape explains, other methods."""
    interface, kind = exercise.interface, exercise.interface.kind
    known = {} if kind.own_inputs else interface.inputs
    used = _inputs_of_checks(exercise)
    handed, parameters = _parameters(exercise, found)
    yield from ((f"`{each.name}`", blank("its meaning")) for each in handed)
    yield from ((f"`{name}`", _described(spec, exercise)) for name, spec in known.items())
    forward = [] if found is None or interface.function else found.forward
    optional = [each for each in (*forward, *parameters) if each.name not in known]
    for each in optional:
        if each.name in used or each in forward:
            how = "optional, by keyword only" if each.is_keyword_only else "optional"
            spec = used.get(each.name)
            yield f"`{each.name}`, {how}", _described(spec, exercise) if shape_of(spec) else blank("its meaning")
    yield from _rows_of_outputs(exercise, found)
    shapes = [*interface.outputs, *(shape_of(spec) for spec in (*interface.inputs.values(), *used.values()))]
    explained = {axis for shape in shapes for axis in shape} | {*known, *used}
    explained |= {argument for size, argument in _arguments_of_sizes(exercise).items() if size in explained}
    for name in (each.name for each in parameters if each.name not in explained):
        yield f"`{name}`", blank("its meaning")
    for method in dict.fromkeys(each.method for each in exercise.checks if each.method and not each.variation_class()):
        yield f"`{method}`", blank("its arguments and what it returns")


def _parameters(exercise: Exercise, found: FoundInterface | None) -> tuple[list[Parameter], list[Parameter]]:
    """Return the parameters that the kit itself fills, such as the model of a training step, and all others."""
    parameters = parameters_of(found.entry)[0 if exercise.interface.function else 1 :] if found else []
    count = len(exercise.interface.kind.handed_first)
    return parameters[:count], parameters[count:]


def _rows_of_outputs(exercise: Exercise, found: FoundInterface | None) -> Iterator[tuple[str, str]]:
    interface, called = exercise.interface, exercise.interface.called()
    if not interface.kind.returns_outputs:
        if interface.function:
            yield f"what `{called}` returns", blank("its meaning")
        return
    names = found.output_names if found else []
    for index, shape in enumerate(interface.outputs):
        if len(interface.outputs) == 1 and not names:
            what = f"what `{called}` returns"
        elif len(names) == len(interface.outputs):
            what = f"`{names[index]}` of what `{called}` returns"
        else:
            what = f"value {index + 1} of what `{called}` returns"
        yield what, _described(shape, exercise) if shape else "a single number"


def _arguments_of_sizes(exercise: Exercise) -> dict[str, str]:
    """Return, for each size that is not the name of an argument, the argument that stands for it."""
    interface = exercise.interface
    own = {name: value for name, value in interface.constructor.items() if name not in interface.kind.adapter_arguments}
    return {
        str(value): name for name, value in own.items() if value in exercise.fixed_sizes[0] and str(value) not in own
    }


def _inputs_of_checks(exercise: Exercise) -> dict[str, Any]:
    """Return the inputs that some check adds to the interface's; a tensor is preferred to a plain value."""
    added: dict[str, Any] = {}
    for check in exercise.checks:
        for name, spec in check.inputs.items() if not check.method else ():
            if name not in exercise.interface.inputs and (name not in added or not shape_of(added[name])):
                added[name] = spec
    return added


def _layer_rows(exercise: Exercise, reference: str, starter: str) -> Iterator[tuple[str, str]]:
    """Yield a row for each parameter, buffer and layer that the constructor sets, if a check looks at their names."""
    entry = exercise.interface.entry()
    if not any(isinstance(each, KeepsStateDict) for each in exercise.checks):
        return
    in_starter = {*_layers(starter, entry)}
    for name, noun, made in _layers(reference, entry):
        is_shown = len(made) <= MAX_LAYER and (name, noun, made) in in_starter
        yield f"`{name}`", noun + (f"`{made}`" if is_shown else blank("its kind, its shape and its meaning"))


def _layers(source: str, entry: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each layer, parameter and buffer, a noun if it is a buffer, and the code that makes it."""
    for node in ast.parse(source).body:
        methods = node.body if isinstance(node, ast.ClassDef) and node.name == entry else []
        for method in (each for each in methods if isinstance(each, ast.FunctionDef) and each.name == "__init__"):
            for part in ast.walk(method):
                yield from _layer(part)


def _layer(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        made, target = ast.unparse(node.value), node.targets[0]
        is_own = isinstance(target, ast.Attribute) and name_of(target.value) == "self"
        if is_own and made.startswith(("nn.", "torch.nn.")):
            yield name_of(target), "", made
    elif isinstance(node, ast.Call) and name_of(node.func) == "register_buffer" and len(node.args) > 1:
        yield str(getattr(node.args[0], "value", "")), "a buffer: ", ast.unparse(node.args[1])


def _described(spec: Any, exercise: Exercise) -> str:
    """Return the shape of an input or output in words, with the values that an input has.

    The sizes have the names of the arguments that stand for them.
    """
    shape = shape_of(spec) if not isinstance(spec, list) else spec
    if not shape:
        return blank("its meaning")
    arguments = _arguments_of_sizes(exercise)
    axes = [str(arguments.get(str(axis), axis)) for axis in shape[_steps_in(spec, exercise) :]]
    return f"`({', '.join(axes)})`{_made_of(spec, exercise)}"


def _steps_in(spec: Any, exercise: Exercise) -> int:
    """Return the number of an input's first axes that the kit removes before it calls the submission."""
    steps = exercise.interface.kind.step_axes
    return len(steps) if shape_of(spec)[: len(steps)] == steps else 0


def _made_of(spec: Any, exercise: Exercise) -> str:
    """Return a description of an input's values, to follow its shape."""
    if isinstance(spec, list):
        return ""
    if spec.is_mask():
        is_of_pairs = exercise.interface.kind.is_module and len(spec.shape) > len(("batch", "keys"))
        return f", a mask: {'true where a query may look' if is_of_pairs else blank('what true stands for')}"
    if spec.zeros:
        return ""
    if spec.between is not None:
        return f", numbers between {spec.between[0]:g} and {spec.between[1]:g}"
    ignored = f", or {spec.ignored} where there is nothing to count" if spec.ignored is not None else ""
    without = "" if spec.inclusive else "and without "
    most = _arguments_of_sizes(exercise).get(str(spec.integers), spec.integers)
    return f", whole numbers from {spec.start} up to {without}{most}{ignored}"


# the promises


def _promises(exercise: Exercise, found: FoundInterface) -> Iterator[str]:
    """Yield what the checks require of every fix."""
    interface, kind = exercise.interface, exercise.interface.kind
    yield from filter(None, (_promise(check, exercise, found) for check in exercise.checks))
    yield from kind.promises
    if not any(isinstance(each, MatchesReference) and each.uses_calling_variants() for each in exercise.checks):
        return
    if not kind.has_calling_variants:
        yield f"All of this holds for {kind.shared} of any size. {_calls(exercise, found)}"
        return
    modes = "in training and evaluation mode, " if kind.is_module else ""
    numbers = f"with numbers up to {interface.largest_input:,g}, " if interface.largest_input else ""
    yield (
        f"All of this holds for non-empty inputs of any size and memory layout, {numbers}{modes}with and without "
        f"gradients. {_calls(exercise, found)}"
    )
    if kind.is_module and interface.trains_after_inference:
        yield "A module that was called under `torch.inference_mode()` can be trained afterwards."
    if not kind.is_module:
        yield "A call does not change torch's seed, default dtype or grad mode."
        return
    yield (
        "Neither a call nor the constructor changes torch's seed, default dtype or grad mode. A call does not change "
        "the module's mode, which parameters require gradients, or another module. A deep copy of the module works by "
        "itself."
    )


def _calls(exercise: Exercise, found: FoundInterface) -> str:
    """Return how the arguments are passed."""
    interface, kind = exercise.interface, exercise.interface.kind
    takes_positions = kind.has_calling_variants or interface.function
    if interface.keyword_only or not takes_positions or not interface.inputs:
        return "Arguments may be passed by keyword."
    if any(each.is_keyword_only for each in (*found.constructor, *found.forward)):
        names = listed(f"`{name}`" for name in interface.inputs)
        order = ", in this order" if len(interface.inputs) > 1 else ""
        return f"Arguments may be passed by keyword, and {names} also by position{order}."
    return "Arguments may be passed by keyword, or by position in the order above."


def _promise(check: Property, exercise: Exercise, found: FoundInterface) -> str:
    """Return what one check requires; empty if its promise is not known."""
    inputs, kind = exercise.interface.inputs, exercise.interface.kind
    match check:
        case SamplesDoNotMix() if found.learns_statistics():
            return "In evaluation mode, samples do not affect each other."
        case FutureDoesNotLeak():
            axis = shape_of(check.all_inputs(exercise.interface)[check.input])[check.axis]
            return f"No output depends on a later place of `{check.input}` along its axis `{axis}`."
        case CallsInTurn() if check.evaluates_last:
            how = blank("how far a call moves each buffer")
            return f"Calls in training mode change the buffers, and calls in evaluation mode use them: {how}."
        case Raises():
            return _refusal(check)
        case LeavesInputsAlone() if kind.own_inputs:
            return ""
        case LeavesInputsAlone():
            names = listed(f"`{name}`" for name in inputs)
            return f"{names} {'is' if len(inputs) == 1 else 'are'} not modified."
        case KeepsDtype() if not kind.is_module:
            return _promise_of_dtype(exercise)
        case MatchesReference(constructor={"like_a_list": True}):
            return "The index -1 gives the last item, and an index past the end raises `IndexError`."
        case KeepsStateDict() if not check.free_buffers:
            return ""
    return words_for(check).promise


def _promise_of_dtype(exercise: Exercise) -> str:
    """Return which inputs a subject that is no module computes in float64."""
    kind, called = exercise.interface.kind, exercise.interface.called()
    if kind.has_calling_variants:
        return "A call with inputs in float64 computes in float64."
    return f"`{called}` computes in float64 if its {kind.shared} are in float64."


def _refusal(check: Raises) -> str:
    """Return which arguments or sizes a check expects to be refused."""
    values = {**(check.sizes[0] if check.sizes else {}), **check.constructor}
    given = ", ".join(f"{name}={value!r}" for name, value in values.items())
    who = "The constructor" if check.at == "constructor" else "A call"
    errors = listed((f"`{each}`" for each in check.errors), "or")
    return f"{who} refuses values such as `{given}` with {errors}: {blank('which values it refuses')}."
