"""The call of the second card in words: what is built and called, with which arguments, in which mode."""

from collections.abc import Mapping

from grader.checks.outcome import FailureKind
from grader.report.printable import printable
from grader.sandbox.protocol import Build, Call, TensorValue, Value
from grader.spec.exercise import Exercise
from grader.student.evidence import StoredCall

MAX_ARGUMENT = 40
"""The most characters of an argument."""

NOT_ABOUT_VALUES = {
    FailureKind.NOT_REFUSED: "The check expects an exception that your file does not raise",
    FailureKind.REFUSED_BY: "The check expects another exception",
    FailureKind.UNCLEAR_REFUSAL: "The check expects an exception with another message",
    FailureKind.PARAMETERS: "The check is about names and shapes of parameters",
    FailureKind.STATE: "The check is about the state dict",
    FailureKind.TRANSFER: "The check loads weights into another module",
    FailureKind.DEVICE: "The check moves the module to another device",
    FailureKind.ATTRIBUTE: "The check is about an attribute",
    FailureKind.LAYER: "The check is about a layer",
    FailureKind.PRINTS: "The check is about printed text",
    FailureKind.SILENT: "The check is about printed text",
}
"""Kinds of failure that may occur although every listed value is right."""


def call_words(exercise: Exercise, call: StoredCall) -> str:
    """Return a sentence about the last call of the recorded requests."""
    made = next(each for each in reversed(call.requests) if isinstance(each, Call))
    builds = [each for each in call.requests if isinstance(each, Build) and each.module == made.module]
    build = made.build or (builds[-1] if builds else None)
    built, inputs = _arguments(build.arguments if build else {}), _arguments(made.arguments)
    interface = exercise.interface
    name, is_module = interface.entry(), not interface.kind.adapter_for(interface.function)
    is_variation = build is not None and bool(build.variation)
    if is_variation:
        name = f"the grader's own code around {name}"
    if not is_module:
        return f"The call: {name}, with {', '.join([*built, *inputs]) or 'no arguments'}."
    mode = "training" if made.training else "evaluation"
    method = f", method {made.method}" if made.method and not is_variation else ""
    several = " It may call your module several times; the values are those of the last call." if is_variation else ""
    inputs_words = ", ".join(inputs) or "no inputs"
    return f"The call: {name}({', '.join(built)}) in {mode} mode{method}, with {inputs_words}.{several}"


def _arguments(values: Mapping[str, Value]) -> list[str]:
    """Return each argument in words; a tensor by its shape and dtype."""
    from grader.sandbox.values import to_python  # imports torch

    return [
        f"{name} {[*value.shape]} {value.dtype}"
        if isinstance(value, TensorValue)
        else f"{name}={printable(repr(to_python(value)), MAX_ARGUMENT)}"
        for name, value in values.items()
    ]


def advice_without_values(kind: FailureKind, try_command: str) -> str:
    """Return what to do if a failure is about no value; empty if it is about values.

    `try_command` repeats the check; empty where no command does.
    """
    if kind not in NOT_ABOUT_VALUES:
        return ""
    remedy = f"Press Enter to go on, or repeat the check: {try_command}" if try_command else "Press Enter to go on."
    return f"{NOT_ABOUT_VALUES[kind]}, so every value may be right. {remedy}"
