"""The checks that a new description begins with."""

import re
from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Any

from grader.author.interface import SCALARS, Constant, Interface, Parameter
from grader.author.proposal import Proposal, Shape, mask_shape
from grader.course.checks import Kind
from grader.examiner.subjects import KINDS

CheckFields = dict[str, Any]


def first_checks(interface: Interface, proposal: Proposal) -> list[CheckFields]:
    """The checks that fit nearly everything of this kind, and those that reach what the signature leaves open."""
    is_module = interface.kind is Kind.MODULE
    checks = _checks_of_module(proposal) if is_module else _checks_of_kind(interface.kind)
    return [*checks, *_checks_of_arguments(interface, proposal)]


def _checks_of_kind(kind: Kind) -> list[CheckFields]:
    """The checks that fit what is no module."""
    checks: list[CheckFields] = [{"property": "matches_reference"}]
    if kind is not Kind.DATASET:
        checks.append({"property": "keeps_dtype"})
    if kind is Kind.FUNCTION:
        checks.append({"property": "returns_shapes", "public": True})
    return [*checks, {"property": "leaves_inputs_alone", "public": True}]


def _checks_of_module(proposal: Proposal) -> list[CheckFields]:
    """The checks that fit nearly every module."""
    shapes = {name: shape for name, shape in proposal.inputs.items() if isinstance(shape, list)}
    batched = {name: shape for name, shape in shapes.items() if "batch" in shape}
    checks: list[CheckFields] = [
        {"property": "returns_shapes", "public": True},
        {"property": "matches_reference"},
        {"property": "every_parameter_learns"},
    ]
    if batched:
        name = list(batched)[min(1, len(batched) - 1)]
        apart = {"input": name, "axis": batched[name].index("batch"), "output": 0}
        checks.append({"property": "samples_do_not_mix", **apart, "public": True})
    if proposal.dropout:
        checks.append({"property": "dropout_only_in_training", "probability": proposal.dropout})
        if proposal.dropout not in proposal.constructor:
            checks[-1]["constructor"] = {proposal.dropout: 0.0}
        checks[-1]["ladder"] = proposal.ladder[-1:]
    if proposal.refused:
        refuses = {"property": "raises", "id": "uneven_heads_are_refused", "at": "constructor"}
        checks.append(
            {**refuses, "errors": ["AssertionError", "ValueError"], "ladder": proposal.refused, "public": True}
        )
    return [
        *checks,
        {"property": "keeps_dtype"},
        {"property": "moves_between_devices"},
        {"property": "leaves_inputs_alone", "public": True},
    ]


def _checks_of_arguments(interface: Interface, proposal: Proposal) -> Iterator[CheckFields]:
    """What the constructor's arguments may be besides: other values, their defaults, what is refused."""
    yield from checks_of_kits_own(interface)
    yield from _checks_without_labels(interface, proposal)
    yield from (
        _with_mask(name, shape) for name, shape in _masks(interface, proposal).items() if name in interface.axes
    )
    for each in interface.constructor:
        if each.name not in proposal.constructor:
            yield from checks_of_other_values(interface, each, proposal.constructor)
    given = {name for name in proposal.constructor if not _parameter(interface, name).is_required}
    if given:
        yield _check_of_defaults(interface, proposal, given)
    for each in interface.constructor:
        if each.refused:
            yield check_of_refusal(interface.kind, each)


def check_of_refusal(kind: Kind, parameter: Parameter) -> CheckFields:
    """`raises` for a value that is refused."""
    assert parameter.refused is not None
    value, error = parameter.refused
    at = {"at": "constructor"} if kind is Kind.MODULE else {}
    refuses = {"property": "raises", "id": f"{parameter.name}_is_refused", **at, "errors": [error]}
    return {**refuses, "constructor": {parameter.name: value}}


def checks_of_kits_own(interface: Interface) -> Iterator[CheckFields]:
    """What the kit can do with an optimizer or a step, where the file is made for it."""
    if interface.kind is Kind.OPTIMIZER:
        yield compared("values_after_many_steps", {"steps": 23})
    if interface.takes_closure:
        yield compared("values_with_a_closure", {"closure": True})
    if interface.kind is Kind.TRAINING_STEP and interface.skips_missing:
        yield compared("values_with_an_unused_parameter", {"unused": True})


def checks_of_other_values(interface: Interface, parameter: Parameter, given: Collection[str]) -> Iterator[CheckFields]:
    """`matches_reference` with each other value of a parameter, where the interface gives those that are `given`.

    By position arguments are handed over in the order of the signature, so those before it have their defaults.
    """
    defaults: dict[str, Constant] = {}
    if KINDS[interface.kind].has_manners and parameter.name not in given:
        before = list(takewhile(lambda each: each != parameter, interface.constructor))
        between = [each for each in before if each.name not in given]
        if {*given} - {each.name for each in before} or any(each.is_unread for each in between):
            return
        defaults = {each.name: each.default for each in between}
    for suffix, value in other_values(parameter):
        yield compared(f"values_with_{suffix}", {**defaults, parameter.name: value})


def _checks_without_labels(interface: Interface, proposal: Proposal) -> Iterator[CheckFields]:
    """`matches_reference` where all labels are those that do not count, if the file looks out for that."""
    for name, spec in proposal.inputs.items() if interface.guards_nothing else ():
        ignored = spec.get("ignored") if isinstance(spec, dict) else None
        if isinstance(spec, dict) and ignored is not None:
            none = {"integers": ignored, "start": ignored, "inclusive": True, "shape": spec["shape"]}
            yield {"property": "matches_reference", "id": f"values_without_{name}", "inputs": {name: none}}


def compared(check_id: str, constructor: dict[str, Constant]) -> CheckFields:
    """`matches_reference` with other arguments."""
    return {"property": "matches_reference", "id": check_id, "constructor": constructor}


LARGEST_DEFAULT = 1024
"""A default beyond it is no size to be tried in milliseconds."""


def _check_of_defaults(interface: Interface, proposal: Proposal, given: set[str]) -> CheckFields:
    """`matches_reference` with the defaults of what is given elsewhere, sizes at a rung that has them."""
    rung = dict(proposal.ladder[-1])
    left_out = [name for name in given if name not in rung]
    defaults = {each.name: each.default for each in interface.constructor if each.name in rung}
    for name, default in defaults.items():
        others = [rung[other] for other in left_out if other in rung]  # sizes of a rung differ
        if name in given and isinstance(default, int) and 0 < default <= LARGEST_DEFAULT and default not in others:
            rung[name] = default
            left_out.append(name)
    for name in rung.keys() - left_out:
        while rung[name] in [rung[other] for other in rung if other != name]:
            rung[name] += 1
    check: CheckFields = {"property": "matches_reference", "id": "values_by_default", "defaults": left_out}
    return check if rung == proposal.ladder[-1] else {**check, "ladder": [rung]}


def _parameter(interface: Interface, name: str) -> Parameter:
    """The constructor's parameter of this name; what is the kit's own is none that has a default."""
    return next((each for each in interface.constructor if each.name == name), Parameter(name, is_required=True))


NO_OTHER = re.compile(
    r"dropout|drop_?p|^ignore_index$|verbose|debug|print|device|dtype|vocab|(^|_)(generator|rng|dim|axis|classes)$"
)
"""Names of what is tried otherwise, would show in nothing that is compared, or has to fit the inputs."""
TINY = re.compile(r"(^|_)eps")
NUMBER = re.compile(r"clip|scale|limit|bound|cap$|ratio")
SOME_SHARE, SMALLER, SOME_EPS, SMALL = 0.25, 0.6, 0.01, 3


def other_values(parameter: Parameter) -> Iterator[tuple[str, Constant]]:
    """Values that a parameter with a default may be given besides, each with how a check with it may be called."""
    name, default = parameter.name, parameter.default
    if parameter.is_required or parameter.is_unread or NO_OTHER.search(name.lower()):
        return
    if isinstance(default, bool):
        yield f"{name}_{'off' if default else 'on'}", not default
    elif isinstance(default, str):
        for word in parameter.words:
            if word != default:
                yield f"{name}_{re.sub(r'[^A-Za-z0-9_-]+', '_', word)}", word
    elif isinstance(default, float):
        yield f"other_{name}", _other_float(name, default)
    elif isinstance(default, int) and default >= 0:
        yield f"other_{name}", default // 2 | 1 if default > SMALL else default + 1
    elif default is None and re.search(r"float|int", parameter.annotation):
        yield f"{name}_given", 2 if "int" in parameter.annotation else SOME_SHARE
    elif default is None and not parameter.annotation and (SCALARS.search(name) or NUMBER.search(name)):
        yield f"{name}_given", 2 if re.search(r"^(k|num_.*|n_.*|.*(size|len|length|steps))$", name) else SOME_SHARE


def _other_float(name: str, default: float) -> float:
    if TINY.search(name):
        return SOME_EPS
    return float(f"{default * SMALLER:.2g}") if default else SOME_SHARE


def _masks(interface: Interface, proposal: Proposal) -> dict[str, Shape]:
    """The masks that may be given besides, with their shapes."""
    places = next((shape for shape in proposal.inputs.values() if isinstance(shape, list)), [])
    names = [name for name in proposal.left_out if "mask" in name.lower()]
    shapes = {name: mask_shape(name, interface, proposal.mask) or places[:-1] for name in names}
    return {name: shape for name, shape in shapes.items() if len(shape) > 1}


def _with_mask(name: str, shape: Shape) -> CheckFields:
    """`matches_reference` with a mask that may be left out."""
    check = {"property": "matches_reference", "id": f"matches_reference_with_{name}"}
    return {**check, "inputs": {name: {"mask": "random", "shape": shape}}}


def doubtful_checks(interface: Interface, proposal: Proposal) -> list[CheckFields]:
    """Checks of what may be given besides, of which the names alone do not say what it is."""
    masks = _masks(interface, proposal)
    checks = [_with_mask(name, shape) for name, shape in masks.items() if name not in interface.axes]
    open_ones = [
        each.name
        for each in interface.constructor
        if not each.is_required and each.default is None and not each.is_unread
        if each.name not in masks and not NO_OTHER.search(each.name.lower()) and not [*other_values(each)]
    ]
    return [*checks, *(compared(f"values_with_{name}_given", {name: SOME_SHARE}) for name in open_ones)]
