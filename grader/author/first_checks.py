"""The first checks of a new description, and the checks that a proof proposes."""

import re
from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Any

from grader.author.interface import FoundInterface
from grader.author.parameters import Constant, Parameter, other_values
from grader.author.proposal import Proposal, mask_shape
from grader.author.sizes import Role, role_of
from grader.spec.kinds import Kind, Shape, suggested

CheckFields = dict[str, Any]

REFUSALS = ["AssertionError", "ValueError"]
"""The exceptions that count as a refusal of sizes."""

CALLS = (4, 1, 3)
"""The lengths of successive calls. Their sum fits into the smallest limit of the fixed sizes."""

BATCHES_IN_TURN = (6, 3, 5)
"""The numbers of samples of successive calls. The last call is in evaluation mode."""

SOURCES = re.compile(r"context|memory|encoder|source|^src|^(keys?|values?|k|v|kv|cond)$")
LENGTH_OF_SOURCE = 7
"""A length that no fixed size has."""

MANY_SAMPLES = 9
"""More samples than any other size in the largest fixed size case."""

LARGEST_DEFAULT = 1024
"""A larger default takes too long to try."""


def first_checks(interface: FoundInterface, proposal: Proposal) -> list[CheckFields]:
    """Return the checks that suit nearly every subject of the kind, and checks of arguments that are not set."""
    checks: list[CheckFields] = [{"property": name} for name in interface.kind.first_checks]
    if interface.kind.is_module:
        checks += _checks_of_module(interface, proposal)
    checks += [compare_values(each.id, constructor=each.constructor) for each in interface.own_checks]
    optional = [each.name for each in interface.constructor if not each.is_required]
    for name, suggestion in suggested(interface.kind, optional, is_required=False):
        if suggestion.other is not None:
            checks.append(compare_values(f"values_with_tight_{name}", constructor={name: suggestion.other}))
    checks += _checks_of_masks_and_labels(interface, proposal)
    if interface.kind.is_module:
        checks += _checks_of_calls(interface, proposal)
    for each in interface.constructor:
        if each.name not in proposal.constructor:
            checks += checks_of_other_values(interface, each, proposal.constructor)
    given = [name for name in optional if name in proposal.constructor]
    if given:
        checks.append(_check_of_defaults(interface, proposal, given))
    return checks + [check_of_refusal(interface.kind, each) for each in interface.constructor if each.refused]


def compare_values(check_id: str, **fields: Any) -> CheckFields:
    """Return `matches_reference` with these fields."""
    return {"property": "matches_reference", "id": check_id, **fields}


def checks_of_other_values(
    interface: FoundInterface, parameter: Parameter, given: Collection[str]
) -> Iterator[CheckFields]:
    """Yield `matches_reference` with each other value of a constructor's parameter. The interface sets the arguments
    `given`.

    A calling variant passes arguments by position in the order of the signature, so earlier parameters get their
    defaults.
    """
    defaults: dict[str, Constant] = {}
    if interface.kind.has_calling_variants and parameter.name not in given:
        before = list(takewhile(lambda each: each != parameter, interface.constructor))
        between = [each for each in before if each.name not in given]
        if {*given} - {each.name for each in before} or any(each.is_unread for each in between):
            return
        defaults = {each.name: each.default for each in between}
    for suffix, value in other_values(parameter):
        yield compare_values(f"values_with_{suffix}", constructor={**defaults, parameter.name: value})


def checks_of_forward(interface: FoundInterface) -> Iterator[CheckFields]:
    """Yield `matches_reference` with each other value of the arguments of forward that are not tensors.

    Yield nothing for a module that remembers earlier calls, because its calls depend on each other.
    """
    for each in interface.forward if interface.kind.is_module and not interface.remembers else ():
        for suffix, value in other_values(each):
            yield compare_values(f"values_with_{suffix}", inputs={each.name: value})


def check_of_training(samples: str = "batch") -> CheckFields:
    """Return `calls_in_turn` that shows, in evaluation mode, what calls in training mode left in the buffers.

    `samples` is the name of the number of samples.
    """
    in_turn = {"property": "calls_in_turn", "id": "statistics_of_training", "training": True}
    return {**in_turn, "evaluates_last": True, "calls": [{samples: each} for each in BATCHES_IN_TURN]}


def check_of_refusal(kind: Kind, parameter: Parameter) -> CheckFields:
    """Return `raises` for a value that the file refuses."""
    assert parameter.refused is not None
    value, error = parameter.refused
    at = {"at": "constructor"} if kind.is_module else {}
    refuses = {"property": "raises", "id": f"{parameter.name}_is_refused", **at, "errors": [error]}
    return {**refuses, "constructor": {parameter.name: value}}


def _checks_of_module(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """Yield the checks of a module's samples, dropout, sizes, parameters and modes."""
    shapes = {name: shape for name, shape in proposal.inputs.items() if isinstance(shape, list) and "batch" in shape}
    for name, shape in [*shapes.items()][:2][-1:]:  # of several inputs, the second is rarely checked
        axis = shape.index("batch")
        yield {"property": "samples_do_not_mix", "input": name, "axis": axis, "output": 0}
    first, shape = next(iter(shapes.items()), ("", []))
    if interface.is_causal and "tokens" in shape:
        yield {"property": "future_does_not_leak", "input": first, "axis": shape.index("tokens")}
    dropout = proposal.constructor.get(proposal.dropout, interface.parameter(proposal.dropout).default)
    if proposal.dropout:
        given = {} if proposal.dropout in proposal.constructor else {"constructor": {proposal.dropout: 0.0}}
        dropped = {"property": "dropout_only_in_training", "probability": proposal.dropout, **given}
        yield {**dropped, "sizes": proposal.fixed_sizes[-1:]}
    if not proposal.dropout or dropout == 0:
        yield compare_values("values_in_training", training=True)
    if proposal.refused:
        refuses = {"property": "raises", "id": "uneven_heads_are_refused", "at": "constructor", "errors": REFUSALS}
        yield {**refuses, "sizes": proposal.refused}
    yield {"property": "keeps_state_dict", **({} if interface.has_buffers else {"free_buffers": True})}
    for each in interface.constructor:  # by its parameters, because a key's bias changes no value
        if isinstance(each.default, bool) and "bias" in each.name:
            [(suffix, value)] = other_values(each)
            yield {"property": "keeps_parameters", "id": f"parameters_with_{suffix}", "constructor": {each.name: value}}


def _checks_of_masks_and_labels(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """Yield `matches_reference` with inputs in which everything is ignored or masked, and with each optional mask.

    A random mask of keys may hide nothing from a single sample. So a padding mask hides half of the keys at all sizes,
    and a random mask hides different keys from each of many samples.
    """
    for name, spec in proposal.inputs.items():
        if isinstance(spec, dict) and interface.guards_empty:
            ignored = spec.get("ignored")
            if ignored is not None:
                none = {"integers": ignored, "start": ignored, "inclusive": True, "shape": spec["shape"]}
                yield compare_values(f"values_without_{name}", inputs={name: none})
            if "mask" in spec and not interface.kind.is_module:
                yield compare_values(f"values_with_a_blind_row_of_{name}", inputs={name: {**spec, "mask": "dead_row"}})
    for name in proposal.left_out:
        shape = mask_shape(name, interface, proposal.mask) or proposal.first_shape()[:-1]
        if "mask" not in name.lower() or name not in interface.axes or len(shape) <= 1:
            continue
        is_padding = len(shape) == len(("batch", "keys")) and shape[0] == "batch"
        mask = {"mask": "padding" if is_padding else "random", "shape": shape}
        yield compare_values(f"matches_reference_with_{name}", inputs={name: mask})
        if is_padding:
            sizes = [{**proposal.fixed_sizes[-1], "batch": MANY_SAMPLES}]
            random = {"mask": "random", "shape": shape}
            yield compare_values(f"values_with_many_of_{name}", inputs={name: random}, sizes=sizes)


def _checks_of_calls(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """Yield checks of forward's other arguments, of the memory of earlier calls, and of inputs that are too long."""
    largest = proposal.fixed_sizes[-1]
    flags = {each.name: not each.default for each in interface.forward if isinstance(each.default, bool)}
    given: CheckFields = {"inputs": flags} if flags else {}
    yield from checks_of_forward(interface)
    sources = {name: shape for name in proposal.left_out if (shape := _shape_of_source(name, interface, proposal))}
    if sources:
        yield compare_values("values_with_another_source", inputs=sources)
    for name in proposal.left_out:
        if name in interface.widths and not _is_source(name):
            shape = [*proposal.first_shape()[:-1], interface.widths[name]]
            yield compare_values(f"values_with_{name}", inputs={name: shape})
    if interface.learns_statistics():
        yield check_of_training()
    length = next((name for name in ("tokens", "queries") if name in largest), "")
    if interface.remembers and length:
        in_turn = {"property": "calls_in_turn", **given, "calls": [{length: each} for each in CALLS]}
        yield in_turn
        for name in interface.resets:
            yield {**in_turn, "id": f"calls_with_{name}", "after_each": name}
    limits = [name for name in largest if role_of(name) is Role.LENGTH and name in proposal.constructor]
    if interface.refuses_inputs and length and limits:
        sizes = [{**largest, length: largest[limits[0]] + 1}]
        yield {"property": "raises", "id": "too_long_is_refused", "errors": REFUSALS, **given, "sizes": sizes}


def _is_source(name: str) -> bool:
    return "mask" not in name and SOURCES.search(name) is not None


def _shape_of_source(name: str, interface: FoundInterface, proposal: Proposal) -> Shape:
    """Return the shape of a source of keys and values, which replaces the first input; empty for any other input."""
    first = proposal.first_shape()
    if not _is_source(name) or "tokens" not in first:
        return []
    width = interface.widths.get(name, first[-1])
    return [LENGTH_OF_SOURCE if axis == "tokens" else axis for axis in first[:-1]] + [width]


def _check_of_defaults(interface: FoundInterface, proposal: Proposal, given: list[str]) -> CheckFields:
    """Return `matches_reference` with defaults for the arguments that other checks set, at sizes that fit them."""
    largest = proposal.fixed_sizes[-1]
    defaults = {name: 0 for name in given if name not in largest}
    for name in given:
        default = interface.parameter(name).default
        fits = isinstance(default, int) and 0 < default <= LARGEST_DEFAULT and default not in defaults.values()
        if name in largest and fits:  # sizes are distinct
            defaults[name] = int(default or 0)
    sizes = {name: defaults.get(name, size) for name, size in largest.items()}
    for name in (name for name in largest if name not in defaults):
        while list(sizes.values()).count(sizes[name]) > 1:
            sizes[name] += 1
    own_sizes = {"sizes": [sizes]} if largest.keys() & defaults or sizes != largest else {}
    return compare_values("values_by_default", defaults=list(defaults), **own_sizes)
