"""The checks that a new description begins with."""

from collections.abc import Collection, Iterator
from itertools import takewhile

from grader.author.calls import REFUSALS, CheckFields, checks_of_calls, parameter_of
from grader.author.interface import FoundInterface
from grader.author.parameters import NO_OTHER, OTHER_SHARE, Constant, Parameter, other_values
from grader.author.proposal import Proposal, mask_shape
from grader.spec.kinds import Kind, Shape, suggested


def first_checks(interface: FoundInterface, proposal: Proposal) -> list[CheckFields]:
    """The checks that fit nearly everything of this kind, and those that reach what the signature leaves open."""
    if interface.kind.is_module:
        checks = _checks_of_module(interface, proposal)
    else:
        checks = [{"property": name} for name in interface.kind.first_checks]
    return [*checks, *_checks_of_arguments(interface, proposal)]


def _checks_of_module(interface: FoundInterface, proposal: Proposal) -> list[CheckFields]:
    """The checks that fit nearly every module."""
    shapes = {name: shape for name, shape in proposal.inputs.items() if isinstance(shape, list)}
    batched = {name: shape for name, shape in shapes.items() if "batch" in shape}
    checks: list[CheckFields] = [
        {"property": "returns_shapes"},
        {"property": "matches_reference"},
        {"property": "every_parameter_learns"},
    ]
    if batched:
        name = list(batched)[min(1, len(batched) - 1)]
        apart = {"input": name, "axis": batched[name].index("batch"), "output": 0}
        checks.append({"property": "samples_do_not_mix", **apart})
    if proposal.dropout:
        checks.append({"property": "dropout_only_in_training", "probability": proposal.dropout})
        if proposal.dropout not in proposal.constructor:
            checks[-1]["constructor"] = {proposal.dropout: 0.0}
        checks[-1]["sizes"] = proposal.fixed_sizes[-1:]
    if proposal.refused:
        refuses = {"property": "raises", "id": "uneven_heads_are_refused", "at": "constructor"}
        checks.append({**refuses, "errors": REFUSALS, "sizes": proposal.refused})
    return [
        *checks,
        {"property": "keeps_dtype"},
        {"property": "keeps_state_dict", **({} if interface.has_buffers else {"free_buffers": True})},
        {"property": "moves_between_devices"},
        {"property": "leaves_inputs_alone"},
    ]


def _checks_of_arguments(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """What the constructor's arguments may be besides: other values, their defaults, what is refused."""
    yield from checks_of_kits_own(interface)
    yield from _checks_without_labels(interface, proposal)
    for name, shape in _masks(interface, proposal).items():
        if name in interface.axes:
            yield from _with_mask(name, shape, proposal)
    yield from checks_of_calls(interface, proposal)
    for each in interface.constructor:
        if each.name not in proposal.constructor:
            yield from checks_of_other_values(interface, each, proposal.constructor)
    if interface.kind.is_module:
        yield from _checks_of_form(interface, proposal)
    given = {name for name in proposal.constructor if not parameter_of(interface, name).is_required}
    if given:
        yield _check_of_defaults(interface, proposal, given)
    for each in interface.constructor:
        if each.refused:
            yield check_of_refusal(interface.kind, each)


def _checks_of_form(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """Training mode, where nothing is drawn, and the parameters under a flag: a key's bias changes no value."""
    dropped = proposal.constructor.get(proposal.dropout, parameter_of(interface, proposal.dropout).default)
    if not proposal.dropout or dropped == 0:
        yield {"property": "matches_reference", "id": "values_in_training", "training": True}
    for each in interface.constructor:
        if isinstance(each.default, bool) and "bias" in each.name:
            [(suffix, value)] = other_values(each)
            yield {"property": "keeps_parameters", "id": f"parameters_with_{suffix}", "constructor": {each.name: value}}


def check_of_refusal(kind: Kind, parameter: Parameter) -> CheckFields:
    """`raises` for a value that is refused."""
    assert parameter.refused is not None
    value, error = parameter.refused
    at = {"at": "constructor"} if kind.is_module else {}
    refuses = {"property": "raises", "id": f"{parameter.name}_is_refused", **at, "errors": [error]}
    return {**refuses, "constructor": {parameter.name: value}}


def checks_of_kits_own(interface: FoundInterface) -> Iterator[CheckFields]:
    """What the kit can do with an optimizer or a step, where the file is made for it."""
    for check in interface.own_checks:
        yield compared(check.id, check.constructor)
    optional = [each.name for each in interface.constructor if not each.is_required]
    for name, each in suggested(interface.kind, optional, is_required=False):
        if each.other is not None:
            yield compared(f"values_with_tight_{name}", {name: each.other})


def checks_of_other_values(
    interface: FoundInterface, parameter: Parameter, given: Collection[str]
) -> Iterator[CheckFields]:
    """`matches_reference` with each other value of a parameter, where the interface gives those that are `given`.

    By position arguments are handed over in the order of the signature, so those before it have their defaults.
    """
    defaults: dict[str, Constant] = {}
    if interface.kind.has_calling_variants and parameter.name not in given:
        before = list(takewhile(lambda each: each != parameter, interface.constructor))
        between = [each for each in before if each.name not in given]
        if {*given} - {each.name for each in before} or any(each.is_unread for each in between):
            return
        defaults = {each.name: each.default for each in between}
    for suffix, value in other_values(parameter):
        yield compared(f"values_with_{suffix}", {**defaults, parameter.name: value})


def _checks_without_labels(interface: FoundInterface, proposal: Proposal) -> Iterator[CheckFields]:
    """`matches_reference` where nothing counts, in the labels or by the mask, if the file looks out for that."""
    for name, spec in proposal.inputs.items() if interface.guards_nothing else ():
        ignored = spec.get("ignored") if isinstance(spec, dict) else None
        if isinstance(spec, dict) and ignored is not None:
            none = {"integers": ignored, "start": ignored, "inclusive": True, "shape": spec["shape"]}
            yield {"property": "matches_reference", "id": f"values_without_{name}", "inputs": {name: none}}
        if isinstance(spec, dict) and "mask" in spec and not interface.kind.is_module:
            blind = {**spec, "mask": "dead_row"}
            yield {"property": "matches_reference", "id": f"values_with_a_blind_row_of_{name}", "inputs": {name: blind}}


def compared(check_id: str, constructor: dict[str, Constant]) -> CheckFields:
    """`matches_reference` with other arguments."""
    return {"property": "matches_reference", "id": check_id, "constructor": constructor}


LARGEST_DEFAULT = 1024
"""A default beyond it is no size to be tried in milliseconds."""


def _check_of_defaults(interface: FoundInterface, proposal: Proposal, given: set[str]) -> CheckFields:
    """`matches_reference` with the defaults of what is given elsewhere, sizes at a size case that has them."""
    size_case = dict(proposal.fixed_sizes[-1])
    left_out = [name for name in given if name not in size_case]
    defaults = {each.name: each.default for each in interface.constructor if each.name in size_case}
    for name, default in defaults.items():
        others = [size_case[other] for other in left_out if other in size_case]  # sizes of a size case differ
        if name in given and isinstance(default, int) and 0 < default <= LARGEST_DEFAULT and default not in others:
            size_case[name] = default
            left_out.append(name)
    for name in size_case.keys() - left_out:
        while size_case[name] in [size_case[other] for other in size_case if other != name]:
            size_case[name] += 1
    check: CheckFields = {"property": "matches_reference", "id": "values_by_default", "defaults": left_out}
    return (
        {**check, "sizes": [size_case]}
        if size_case.keys() & left_out or size_case != proposal.fixed_sizes[-1]
        else check
    )


def _masks(interface: FoundInterface, proposal: Proposal) -> dict[str, Shape]:
    """The masks that may be given besides, with their shapes."""
    places = next((shape for shape in proposal.inputs.values() if isinstance(shape, list)), [])
    names = [name for name in proposal.left_out if "mask" in name.lower()]
    shapes = {name: mask_shape(name, interface, proposal.mask) or places[:-1] for name in names}
    return {name: shape for name, shape in shapes.items() if len(shape) > 1}


def _with_mask(name: str, shape: Shape, proposal: Proposal) -> Iterator[CheckFields]:
    """`matches_reference` with a mask that may be left out.

    A mask of keys alone, drawn for a single sample, may hide nothing: at all sizes it hides half of the keys, and
    others from each of many samples.
    """
    check = {"property": "matches_reference", "id": f"matches_reference_with_{name}"}
    random = {"inputs": {name: {"mask": "random", "shape": shape}}}
    if len(shape) == len(("batch", "keys")) and shape[0] == "batch":
        yield {**check, "inputs": {name: {"mask": "padding", "shape": shape}}}
        size_case = {**proposal.fixed_sizes[-1], "batch": MANY_SAMPLES}
        yield {**check, "id": f"values_with_many_of_{name}", **random, "sizes": [size_case]}
    else:
        yield {**check, **random}


MANY_SAMPLES = 9
"""No other size of a list of sizes's last size case is as large."""


def doubtful_checks(interface: FoundInterface, proposal: Proposal) -> list[CheckFields]:
    """Checks of what may be given besides, of which the names alone do not say what it is."""
    masks = _masks(interface, proposal)
    checks = [
        check
        for name, shape in masks.items()
        if name not in interface.axes
        for check in _with_mask(name, shape, proposal)
    ]
    open_ones = [
        each.name
        for each in interface.constructor
        if not each.is_required and each.default is None and not each.is_unread
        if each.name not in masks and not NO_OTHER.search(each.name.lower()) and not [*other_values(each)]
    ]
    return [*checks, *(compared(f"values_with_{name}_given", {name: OTHER_SHARE}) for name in open_ones)]
