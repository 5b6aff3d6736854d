"""The README of a new exercise: the story, and the contract, as far as the reference and the checks show it.

The places that only the author can fill in begin with `BLANK`.
"""

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.author.interface import FoundInterface, find_interface
from grader.author.parameters import Parameter, name_of
from grader.errors import UsageError
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
    found = _found(exercise, reference)
    signature = f"{interface.entry()}({', '.join(_arguments(exercise, found, _found(exercise, starter)))})"
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


def _found(exercise: Exercise, source: str) -> FoundInterface | None:
    """Return the interface in a source; None if it is not the one that the description names."""
    try:
        found = find_interface(source, "the source")
    except UsageError:
        return None
    return found if found.class_name == exercise.interface.entry() and found.kind.has_calling_variants else None


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


def _arguments(exercise: Exercise, found: FoundInterface | None, in_starter: FoundInterface | None) -> list[str]:
    """Return the arguments of the class or function, with the defaults that reference and starter give them."""
    interface = exercise.interface
    if found is not None and interface.kind.is_module:
        return [_with_default(each, in_starter) for each in found.constructor]
    keywords = [name if value == name else f"{name}={value!r}" for name, value in interface.constructor.items()]
    return interface.kind.arguments(interface.function, list(interface.inputs), keywords)


def _with_default(parameter: Parameter, in_starter: FoundInterface | None) -> str:
    if parameter.is_required:
        return parameter.name
    is_same = in_starter is not None and in_starter.parameter(parameter.name).default == parameter.default
    return f"{parameter.name}={repr(parameter.default) if is_same and not parameter.is_unread else '...'}"


def _rows(exercise: Exercise, found: FoundInterface | None) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table: inputs, outputs, arguments that no shape explains, other methods."""
    interface, kind = exercise.interface, exercise.interface.kind
    known = {name: _described(spec) for name, spec in interface.inputs.items()}
    used = _inputs_of_checks(exercise)
    yield from ((f"`{name}`", shape) for name, shape in known.items())
    optional = [] if found is None or not kind.is_module else found.forward
    for name in (each.name for each in optional if each.name not in known):
        yield f"`{name}`, optional", _described(used[name]) if name in used else blank("its shape and meaning")
    if kind.returns_outputs:
        for shape in interface.outputs:
            yield f"what `{interface.called()}` returns", _described(shape) if shape else "a single number"
    shapes = [*interface.outputs, *(shape_of(spec) for spec in (*interface.inputs.values(), *used.values()))]
    explained = {axis for shape in shapes for axis in shape} | {*interface.inputs, *used}
    arguments = [each.name for each in found.constructor] if found else [*interface.constructor]
    arguments += [*_arguments_of_checks(exercise)] if found is None else []
    for name in dict.fromkeys(arguments):
        if name not in explained and name not in kind.adapter_arguments:
            yield f"`{name}`", blank("its meaning")
    for method in dict.fromkeys(each.method for each in exercise.checks if each.method and not each.variation_class()):
        yield f"`{method}`", blank("its arguments and what it returns")


def _inputs_of_checks(exercise: Exercise) -> dict[str, Any]:
    """Return the inputs that some check adds to the interface's; a tensor is preferred to a plain value."""
    added: dict[str, Any] = {}
    for check in exercise.checks:
        for name, spec in check.inputs.items() if not check.method else ():
            if name not in exercise.interface.inputs and (name not in added or not shape_of(added[name])):
                added[name] = spec
    return added


def _arguments_of_checks(exercise: Exercise) -> Iterator[str]:
    for check in exercise.checks:
        yield from (*check.constructor, *check.defaults)


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


def _described(spec: Any) -> str:
    """Return the shape of an input or output in words, with the values that an input has."""
    shape = spec if isinstance(spec, list) else getattr(spec, "shape", None)
    if shape is None:
        return f"`{spec!r}`"
    return f"`({', '.join(map(str, shape))})`{_made_of(spec)}"


def _made_of(spec: Any) -> str:
    """Return a description of an input's values, to follow its shape."""
    if isinstance(spec, list):
        return ""
    if spec.is_mask():
        return ", a mask: true where a query may look"
    if spec.zeros:
        return ""
    if spec.between is not None:
        return f", numbers between {spec.between[0]:g} and {spec.between[1]:g}"
    ignored = f", or {spec.ignored} where there is nothing to count" if spec.ignored is not None else ""
    without = "" if spec.inclusive else "and without "
    return f", whole numbers from {spec.start} up to {without}{spec.integers}{ignored}"


# the promises


def _promises(exercise: Exercise, found: FoundInterface) -> Iterator[str]:
    """Yield what the checks require of every fix."""
    interface, kind = exercise.interface, exercise.interface.kind
    modes = "in training and evaluation mode, " if kind.is_module else ""
    yield from filter(None, (_promise(check, exercise, found) for check in exercise.checks))
    if any(isinstance(each, MatchesReference) and each.uses_calling_variants() for each in exercise.checks):
        positions = "" if interface.keyword_only else ", or by position in the order above"
        yield (
            f"All of this holds for non-empty inputs of any size and memory layout, {modes}with and without gradients. "
            f"Arguments may be passed by keyword{positions}."
        )
        if kind.is_module and interface.trains_after_inference:
            yield "A module that was called under `torch.inference_mode()` can be trained afterwards."
        mode = ", the module's mode, which parameters require gradients, or another module" if kind.is_module else ""
        yield f"A call does not change torch's seed, default dtype or grad mode{mode}."


def _promise(check: Property, exercise: Exercise, found: FoundInterface) -> str:
    """Return what one check requires; empty if its promise is not known."""
    inputs = exercise.interface.inputs
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
        case LeavesInputsAlone():
            names = listed(f"`{name}`" for name in inputs)
            return f"{names} {'is' if len(inputs) == 1 else 'are'} not modified."
        case KeepsDtype() if not exercise.interface.kind.is_module:
            return "A call with inputs in float64 computes in float64."
        case KeepsStateDict() if not check.free_buffers:
            return ""
    return words_for(check).promise


def _refusal(check: Raises) -> str:
    """Return which arguments or sizes a check expects to be refused."""
    values = {**(check.sizes[0] if check.sizes else {}), **check.constructor}
    given = ", ".join(f"{name}={value!r}" for name, value in values.items())
    who = "The constructor" if check.at == "constructor" else "A call"
    errors = listed((f"`{each}`" for each in check.errors), "or")
    return f"{who} refuses values such as `{given}` with {errors}: {blank('which values it refuses')}."
