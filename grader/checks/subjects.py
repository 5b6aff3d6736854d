"""Kinds of subject: what a submission offers, and the adapter by which every check can call it.

A check knows modules alone: it builds one and calls it. What is no module gets an adapter, an `nn.Module` whose
forward is the experiment: it runs beside the submission in its worker, and beside the reference in the examiner. It
holds no secret, and what it answers is believed no more than what the submission does.
"""

from typing import Any

from msgspec import Struct

from grader.sandbox.protocol import Adapter
from grader.spec.interface import Interface, Kind
from grader.spec.paths import USUAL_MODULE


class SubjectKind(Struct, frozen=True):
    """How the things of one kind are tried.

    `adapter` names the probe that holds its adapter, empty where the submission's class is called itself;
    `may_be_module` tells that a class of this kind is called itself, too, `has_calling_variants` that a call can be
    made in
    other calling variants than the plain one (`calling_variants.py`). `told` says to students what it is, `trial`
    what an adapter does
    with it: `{entry}` of `{inputs}` with `{arguments}`; `file` is what its module is called if nobody says otherwise,
    `same` what it shares with the reference when the two are compared.
    """

    told: str
    adapter: str = ""
    trial: str = "{entry}({inputs}, {arguments})"
    may_be_module: bool = False
    has_calling_variants: bool = False
    file: str = USUAL_MODULE
    same: str = "inputs"


KINDS: dict[Kind, SubjectKind] = {
    Kind.MODULE: SubjectKind("an `nn.Module`", has_calling_variants=True, same="weights and inputs"),
    Kind.FUNCTION: SubjectKind("a function", "function", has_calling_variants=True),
    Kind.LOSS: SubjectKind("a loss", "function", may_be_module=True, has_calling_variants=True, file="loss.py"),
    Kind.OPTIMIZER: SubjectKind(
        "an optimizer",
        "optimizer",
        "{entry}([{inputs}], {arguments}), and some steps of it",
        file="optimizer.py",
        same="parameters and gradients",
    ),
    Kind.TRAINING_STEP: SubjectKind(
        "one step of a training loop, `step(model, optimizer, ...)`",
        "training_step",
        "{entry}(model, optimizer, ...) for each step of {inputs}, with {arguments}",
        file="training.py",
        same="model and batches",
    ),
    Kind.DATASET: SubjectKind(
        "a dataset or sampler",
        "dataset",
        "{entry}({inputs}, {arguments}), and its items over two epochs",
        file="data.py",
    ),
}
"""What each kind of subject is."""


OF_NORM = ("norm.weight", "norm.bias", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked")
STATE_OF_MODEL = ("first.weight", "first.bias", *OF_NORM, "last.weight", "last.bias")
"""What the model of a training step holds, in the order in which it is compared."""

AFTER_THE_STATE = ("what it returns", "the modes of the model and its layers", "what is drawn at random next")


def parts_of(interface: Interface, values: Any) -> list[str]:
    """What each of the values that an adapter returns is, in words; none where their numbers say it."""
    if interface.kind is Kind.TRAINING_STEP:
        others = len(values) - len(STATE_OF_MODEL)  # a step that returns nothing has one value less
        return [*(f"the model's {name}, step by step" for name in STATE_OF_MODEL), *AFTER_THE_STATE[-others:]]
    if interface.kind is Kind.OPTIMIZER:
        names = [f"{name}, step by step" for name in (*interface.inputs, "a parameter without a gradient")]
        return [*names, *(f"{name}, its state dict loaded halfway" for name in names), "what the steps return"]
    return []


def adapter_of(interface: Interface) -> Adapter | None:
    """Return what makes a module of a submission's entry; None where it is a module itself."""
    kind = KINDS[interface.kind]
    if not kind.adapter or (kind.may_be_module and interface.class_name):
        return None
    return Adapter(kind.adapter, list(interface.inputs), not interface.keyword_only)
