"""Checks of how a module is called: what forward may be told besides, calls one after the other, what is too long."""

import re
from collections.abc import Iterator
from typing import Any

from grader.author.interface import FoundInterface
from grader.author.parameters import Parameter, other_values
from grader.author.proposal import Proposal
from grader.author.sizes import Role, size_role
from grader.spec.kinds import Shape

CheckFields = dict[str, Any]

REFUSALS = ["AssertionError", "ValueError"]
"""What is raised for sizes that cannot be."""

LONGEST_DEFAULT = 512
"""Attention over more than that takes too long to be tried by each grading."""


def checks_of_calls(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """What forward may be told besides, what a module keeps from one call to the next, and what is too long for it."""
    if not interface.kind.is_module:
        return
    flags = {each.name: not each.default for each in interface.forward if isinstance(each.default, bool)}
    given: CheckFields = {"inputs": flags} if flags else {}
    if not interface.remembers:
        yield from checks_of_forward(interface)
    others = {name: shape for name in proposal.left_out if (shape := _shape_of_other_source(name, interface, proposal))}
    if others:
        yield {"property": "matches_reference", "id": "values_with_another_source", "inputs": others}
    lengths = [name for name in ("tokens", "queries") if name in proposal.fixed_sizes[-1]]
    limits = [
        name for name in proposal.fixed_sizes[-1] if size_role(name) is Role.LENGTH and name in proposal.constructor
    ]
    if interface.remembers and lengths:
        yield from _checks_of_memory(interface, lengths[0], given)
    if interface.refuses_lengths and lengths and limits:
        size_cases = [{**proposal.fixed_sizes[-1], lengths[0]: proposal.fixed_sizes[-1][limits[0]] + 1}]
        refuses = {"property": "raises", "id": "too_long_is_refused", "errors": REFUSALS}
        yield {**refuses, **given, "sizes": size_cases}
        yield from _checks_of_default_length(interface, proposal, lengths[0], limits[0], given)


def _checks_of_default_length(
    interface: FoundInterface, proposal: Proposal, length: str, limit: str, given: CheckFields
) -> Iterator[CheckFields]:
    """The longest input that the default of a limit allows, and one that is too long for it."""
    longest = parameter_of(interface, limit).default
    if isinstance(longest, int) and 0 < longest <= LONGEST_DEFAULT:
        size_case = {**proposal.fixed_sizes[-1], "batch": 1, limit: longest}
        by_default = {"defaults": [limit], "sizes": [size_case]}
        if interface.remembers:  # sizes of a size case differ, those of a call may be equal
            longest_call = {"property": "calls_in_turn", **given, "calls": [{length: longest}]}
        else:
            long = {
                name: [longest if axis == length else axis for axis in shape]
                for name, shape in proposal.inputs.items()
                if isinstance(shape, list)
            }
            longest_call = {"property": "matches_reference", "inputs": {**given.get("inputs", {}), **long}}
        yield {"id": "longest_by_default", **longest_call, **by_default}
        refuses = {"property": "raises", "id": "too_long_by_default_is_refused", "errors": REFUSALS}
        yield {**refuses, **given, **by_default, "sizes": [{**size_case, length: longest + 1}]}


def checks_of_forward(interface: FoundInterface) -> Iterator[CheckFields]:
    """`matches_reference` with each other value of what a module's forward may be told besides."""
    for each in interface.forward if interface.kind.is_module else ():
        for suffix, value in other_values(each):
            yield {"property": "matches_reference", "id": f"values_with_{suffix}", "inputs": {each.name: value}}


CALLS = (4, 1, 3)
"""The lengths of calls in turn; together no longer than the shortest limit of a list of sizes."""


def _checks_of_memory(interface: FoundInterface, length: str, given: CheckFields) -> Iterator[CheckFields]:
    """`calls_in_turn`, one call after the other, and with what the module forgets in between."""
    calls = [{length: each} for each in CALLS]
    yield {"property": "calls_in_turn", **given, "calls": calls}
    for name in interface.resets:
        yield {"property": "calls_in_turn", "id": f"calls_with_{name}", **given, "calls": calls, "after_each": name}


def parameter_of(interface: FoundInterface, name: str) -> Parameter:
    """The constructor's parameter of this name; what is the kit's own is none that has a default."""
    return next((each for each in interface.constructor if each.name == name), Parameter(name, is_required=True))


SOURCES = re.compile(r"context|memory|encoder|source|^src|^(keys?|values?|k|v|kv|cond)$")
LENGTH_OF_SOURCE = 7
"""A length that no size of a list of sizes has."""


def _shape_of_other_source(name: str, interface: FoundInterface, proposal: Proposal) -> Shape:
    """The shape of what is looked at in place of the first input; empty where a name stands for no such thing."""
    first = next((shape for shape in proposal.inputs.values() if isinstance(shape, list)), [])
    if "mask" in name or not SOURCES.search(name) or "tokens" not in first:
        return []
    width = interface.widths.get(name, first[-1])
    return [LENGTH_OF_SOURCE if axis == "tokens" else axis for axis in first[:-1]] + [width]
