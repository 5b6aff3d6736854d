"""The first checks of a new description, and the checks that a proof proposes."""

import re
from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Any

from grader.author.interface import FoundInterface
from grader.author.parameters import Constant, Parameter, other_values
from grader.author.proposal import Proposal, mask_shape
from grader.author.sizes import Role, size_role
from grader.spec.kinds import Kind, Shape, suggested

CheckFields = dict[str, Any]

REFUSALS = ["AssertionError", "ValueError"]
"""The exceptions by which sizes are refused."""

CALLS = (4, 1, 3)
"""The lengths of calls in turn; together no longer than the shortest limit of the fixed sizes."""

SOURCES = re.compile(r"context|memory|encoder|source|^src|^(keys?|values?|k|v|kv|cond)$")
LENGTH_OF_SOURCE = 7
"""A length that no fixed size has."""

MANY_SAMPLES = 9
"""More than any other of the largest fixed sizes."""

LARGEST_DEFAULT = 1024
"""A larger default is no size to be tried in milliseconds."""


def first_checks(interface: FoundInterface, proposal: Proposal) -> list[CheckFields]:
    """Return the checks that fit nearly everything of this kind, and those for what the signature leaves open."""
    is_module = interface.kind.is_module
    given = {name for name in proposal.constructor if not _parameter(interface, name).is_required}
    return [
        *({"property": name} for name in interface.kind.first_checks),
        *(_checks_of_module(interface, proposal) if is_module else ()),
        *(compare_values(each.id, constructor=each.constructor) for each in interface.own_checks),
        *_checks_of_suggestions(interface),
        *_checks_where_nothing_counts(interface, proposal),
        *_checks_of_masks(interface, proposal),
        *(_checks_of_calls(interface, proposal) if is_module else ()),
        *(
            check
            for each in interface.constructor
            if each.name not in proposal.constructor
            for check in checks_of_other_values(interface, each, proposal.constructor)
        ),
        *(_checks_of_form(interface, proposal) if is_module else ()),
        *([_check_of_defaults(interface, proposal, given)] if given else []),
        *(check_of_refusal(interface.kind, each) for each in interface.constructor if each.refused),
    ]


def compare_values(check_id: str, **fields: Any) -> CheckFields:
    """Return `matches_reference` with these fields."""
    return {"property": "matches_reference", "id": check_id, **fields}


def checks_of_other_values(
    interface: FoundInterface, parameter: Parameter, given: Collection[str]
) -> Iterator[CheckFields]:
    """Yield `matches_reference` with each other value of a constructor's parameter; the interface gives the `given`.

    A calling variant gives arguments by position, in the order of the signature: those before it get their defaults.
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
    """Yield `matches_reference` with each other value of what a module's forward takes besides tensors."""
    for each in interface.forward if interface.kind.is_module else ():
        for suffix, value in other_values(each):
            yield compare_values(f"values_with_{suffix}", inputs={each.name: value})


def check_of_refusal(kind: Kind, parameter: Parameter) -> CheckFields:
    """Return `raises` for a value that the file refuses."""
    assert parameter.refused is not None
    value, error = parameter.refused
    at = {"at": "constructor"} if kind.is_module else {}
    refuses = {"property": "raises", "id": f"{parameter.name}_is_refused", **at, "errors": [error]}
    return {**refuses, "constructor": {parameter.name: value}}


def _checks_of_module(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """Yield the checks of modules whose arguments depend on the interface."""
    axes = {
        name: shape.index("batch")
        for name, shape in proposal.inputs.items()
        if isinstance(shape, list) and "batch" in shape
    }
    for name, axis in [*axes.items()][:2][-1:]:  # of several inputs, the second is where samples mix unnoticed
        yield {"property": "samples_do_not_mix", "input": name, "axis": axis, "output": 0}
    if proposal.dropout:
        given = {} if proposal.dropout in proposal.constructor else {"constructor": {proposal.dropout: 0.0}}
        dropped = {"property": "dropout_only_in_training", "probability": proposal.dropout, **given}
        yield {**dropped, "sizes": proposal.fixed_sizes[-1:]}
    if proposal.refused:
        refuses = {"property": "raises", "id": "uneven_heads_are_refused", "at": "constructor", "errors": REFUSALS}
        yield {**refuses, "sizes": proposal.refused}
    yield {"property": "keeps_state_dict", **({} if interface.has_buffers else {"free_buffers": True})}


def _checks_of_suggestions(interface: FoundInterface) -> Iterator[CheckFields]:
    """Yield `matches_reference` with the second value of the kind's suggestions."""
    optional = [each.name for each in interface.constructor if not each.is_required]
    for name, each in suggested(interface.kind, optional, is_required=False):
        if each.other is not None:
            yield compare_values(f"values_with_tight_{name}", constructor={name: each.other})


def _checks_where_nothing_counts(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """Yield `matches_reference` with labels or a mask that leave nothing, where the file guards against that."""
    for name, spec in proposal.inputs.items() if interface.guards_nothing else ():
        if not isinstance(spec, dict):
            continue
        ignored = spec.get("ignored")
        if ignored is not None:
            none = {"integers": ignored, "start": ignored, "inclusive": True, "shape": spec["shape"]}
            yield compare_values(f"values_without_{name}", inputs={name: none})
        if "mask" in spec and not interface.kind.is_module:
            yield compare_values(f"values_with_a_blind_row_of_{name}", inputs={name: {**spec, "mask": "dead_row"}})


def _checks_of_masks(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """Yield `matches_reference` with each mask that may be left out, if the file shows its axes.

    A mask of keys alone, drawn for a single sample, may hide nothing: at all sizes it hides half of the keys, and
    others from each of many samples.
    """
    first: Shape = next((shape for shape in proposal.inputs.values() if isinstance(shape, list)), [])
    for name in proposal.left_out:
        shape = mask_shape(name, interface, proposal.mask) or first[:-1]
        if "mask" not in name.lower() or name not in interface.axes or len(shape) <= 1:
            continue
        random = {name: {"mask": "random", "shape": shape}}
        if len(shape) == len(("batch", "keys")) and shape[0] == "batch":
            padding = {name: {"mask": "padding", "shape": shape}}
            yield compare_values(f"matches_reference_with_{name}", inputs=padding)
            sizes = [{**proposal.fixed_sizes[-1], "batch": MANY_SAMPLES}]
            yield compare_values(f"values_with_many_of_{name}", inputs=random, sizes=sizes)
        else:
            yield compare_values(f"matches_reference_with_{name}", inputs=random)


def _checks_of_calls(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """Yield checks of what forward takes besides, of what a module remembers, and of inputs that are too long."""
    largest = proposal.fixed_sizes[-1]
    flags = {each.name: not each.default for each in interface.forward if isinstance(each.default, bool)}
    given: CheckFields = {"inputs": flags} if flags else {}
    if not interface.remembers:
        yield from checks_of_forward(interface)
    others = {name: shape for name in proposal.left_out if (shape := _shape_of_source(name, interface, proposal))}
    if others:
        yield compare_values("values_with_another_source", inputs=others)
    length = next((name for name in ("tokens", "queries") if name in largest), "")
    if interface.remembers and length:
        in_turn = {"property": "calls_in_turn", **given, "calls": [{length: each} for each in CALLS]}
        yield in_turn
        for name in interface.resets:
            yield {**in_turn, "id": f"calls_with_{name}", "after_each": name}
    limits = [name for name in largest if size_role(name) is Role.LENGTH and name in proposal.constructor]
    if interface.refuses_lengths and length and limits:
        sizes = [{**largest, length: largest[limits[0]] + 1}]
        yield {"property": "raises", "id": "too_long_is_refused", "errors": REFUSALS, **given, "sizes": sizes}


def _shape_of_source(name: str, interface: FoundInterface, proposal: Proposal) -> Shape:
    """Return the shape of what is looked at in place of the first input; empty where a name is of no such thing."""
    first = next((shape for shape in proposal.inputs.values() if isinstance(shape, list)), [])
    if "mask" in name or not SOURCES.search(name) or "tokens" not in first:
        return []
    width = interface.widths.get(name, first[-1])
    return [LENGTH_OF_SOURCE if axis == "tokens" else axis for axis in first[:-1]] + [width]


def _checks_of_form(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """Yield checks of training mode without dropout, and of the parameters that a flag adds: a key's bias changes no
    value.
    """
    dropped = proposal.constructor.get(proposal.dropout, _parameter(interface, proposal.dropout).default)
    if not proposal.dropout or dropped == 0:
        yield compare_values("values_in_training", training=True)
    for each in interface.constructor:
        if isinstance(each.default, bool) and "bias" in each.name:
            [(suffix, value)] = other_values(each)
            yield {"property": "keeps_parameters", "id": f"parameters_with_{suffix}", "constructor": {each.name: value}}


def _check_of_defaults(interface: FoundInterface, proposal: Proposal, given: set[str]) -> CheckFields:
    """Return `matches_reference` with the defaults of what other checks give, at sizes that the defaults fit."""
    sizes = dict(proposal.fixed_sizes[-1])
    defaults = [name for name in given if name not in sizes]
    for each in interface.constructor:
        taken = [sizes[other] for other in defaults if other in sizes]  # all sizes are distinct
        is_size = each.name in given and each.name in sizes and isinstance(each.default, int)
        if is_size and 0 < int(each.default or 0) <= LARGEST_DEFAULT and each.default not in taken:
            sizes[each.name] = int(each.default or 0)
            defaults.append(each.name)
    for name in sizes.keys() - defaults:
        while sizes[name] in [sizes[other] for other in sizes if other != name]:
            sizes[name] += 1
    is_own = bool(sizes.keys() & defaults) or sizes != proposal.fixed_sizes[-1]
    return compare_values("values_by_default", defaults=defaults, **({"sizes": [sizes]} if is_own else {}))


def _parameter(interface: FoundInterface, name: str) -> Parameter:
    """Return the constructor's parameter; what only the kit's adapter takes counts as one without a default."""
    return next((each for each in interface.constructor if each.name == name), Parameter(name=name, is_required=True))
