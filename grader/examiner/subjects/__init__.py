"""Kinds of subject, one module each: what a submission offers, and the adapter by which every check can call it.

A check knows modules alone: it builds one and calls it. What is no module gets an adapter, an `nn.Module` whose
forward is the experiment: it runs beside the submission in its worker, and beside the reference in the examiner. It
holds no secret, and what it answers is believed no more than what the submission does.
"""

from grader.course.kinds import Kind
from grader.course.records import Interface
from grader.examiner.subjects import dataset, function, loss, module, optimizer, training_step
from grader.examiner.subjects.kind import ADAPTER, SubjectKind

KINDS: dict[Kind, SubjectKind] = {
    Kind.MODULE: module.KIND,
    Kind.FUNCTION: function.KIND,
    Kind.LOSS: loss.KIND,
    Kind.OPTIMIZER: optimizer.KIND,
    Kind.TRAINING_STEP: training_step.KIND,
    Kind.DATASET: dataset.KIND,
}
"""What each kind of subject is."""


def adapter_of(interface: Interface) -> tuple[str, str]:
    """The source that is run beside a submission, and the name of what is built: its own class if that is a module."""
    kind = KINDS[interface.kind]
    if not kind.adapter or (kind.may_be_module and interface.class_name):
        return "", interface.entry()
    names = f"ENTRY = {interface.entry()!r}\nINPUTS = {list(interface.inputs)!r}\n"
    return names + kind.adapter, ADAPTER
