"""A proposal -> the exercise.yaml of a new exercise, with blanks for what only its author knows."""

from typing import Any

import yaml

from grader.author.interface import Interface
from grader.author.proposal import Proposal
from grader.exercise.blanks import blank

TEMPLATE = """\
# yaml-language-server: $schema=../exercise.schema.json
format_version: 1
title: {title}
difficulty: 2   # 1 to 5
source:
  title: {source}
story: >
  {story}

# Found by reading {name}; see that it is right.
interface:
  class: {class_name}
  constructor:   # a value that is the name of a size below stands for that size
{constructor}
  inputs:   # what forward gets by keyword: Gaussian tensors of these shapes{left_out}
{inputs}
  outputs:
{outputs}

# The sizes that every check walks through, from ones up. Within a rung, keep all sizes but ones distinct.
ladder:
{ladder}

# One entry for each defect: was stands once in the starter, fix is what takes its place in the reference.
defects:
  - id: {defect_id}
    title: {defect_title}
    points: 7   # with nothing_else_broke and the other defects, ten
    was: {was}
    fix: {fix}
    hints:
      - {hint_1}
      - {hint_2}
      - {hint_3}
    why: >
      {why}

nothing_else_broke: 3

# Built-in properties; those that are public also run in a student edition.
checks:
{checks}
"""

BLANKS = {
    "title": "one line for the list, on what people notice rather than on its cause",
    "source": "the public document that the code comes from",
    "story": "one paragraph on who uses the code and what they noticed",
    "defect_id": "a short name, such as softmax-over-queries",
    "defect_title": "what is wrong, in one line, shown once it is fixed",
    "was": "the line or part of a line as it stands in the starter, once",
    "fix": "what takes its place in the reference",
    "hint_1": "a nudge, such as an experiment that shows the behaviour",
    "hint_2": "a question that leads to the place",
    "hint_3": "nearly the answer",
    "why": "what it did and why nobody saw it, shown once it is fixed",
}


def describe(interface: Interface, proposal: Proposal, name: str) -> str:
    """The text of the exercise.yaml; `name` is the file that the interface was found in."""
    constructor = dict(proposal.constructor)
    for keyword in proposal.blanks:
        constructor[keyword] = blank(f"a number, a truth value, a word or null for {keyword}")
    left_out = f"; left out: {', '.join(proposal.left_out)}" if proposal.left_out else ""
    return TEMPLATE.format(
        name=name,
        class_name=interface.class_name,
        constructor=_mapping(constructor, 4) or "    {}",
        left_out=left_out,
        inputs=_mapping(proposal.inputs, 4) or "    {}",
        outputs=_items(proposal.outputs, 4),
        ladder=_items(proposal.ladder, 2),
        checks=_checks(proposal),
        **{field: blank(what) for field, what in BLANKS.items()},
    )


def _checks(proposal: Proposal) -> str:
    """The checks that fit nearly every module."""
    shapes = {name: shape for name, shape in proposal.inputs.items() if isinstance(shape, list)}
    batched = {name: shape for name, shape in shapes.items() if "batch" in shape}
    checks: list[dict[str, Any]] = [
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
    checks += [
        {"property": "keeps_dtype"},
        {"property": "moves_between_devices"},
        {"property": "leaves_inputs_alone", "public": True},
    ]
    return "\n".join([*map(_check, checks), *_suggestions(proposal)])


def _suggestions(proposal: Proposal) -> list[str]:
    """Checks of the masks that forward takes, for their author to correct and to switch on."""
    masks = [name for name in proposal.left_out if "mask" in name.lower()]
    lines = []
    for name in masks:
        check = {"property": "matches_reference", "id": f"matches_reference_with_{name}"}
        inputs = {name: {"mask": "random", "shape": proposal.mask}}
        lines += [f"  # {line[2:]}" for line in _check({**check, "inputs": inputs}).split("\n")]
    return ["  # For what forward may be given besides; see that the shape is right.", *lines] if masks else []


def _check(check: dict[str, Any]) -> str:
    lines = [f"{_flow(key)}: {_flow(value)}" for key, value in check.items()]
    return "  - " + "\n    ".join(lines)


def _mapping(data: dict[str, Any], indent: int) -> str:
    return "\n".join(f"{' ' * indent}{_flow(key)}: {_flow(value)}" for key, value in data.items())


def _items(data: list[Any], indent: int) -> str:
    return "\n".join(f"{' ' * indent}- {_flow(item)}" for item in data)


def _flow(value: Any) -> str:
    """A value on one line of YAML."""
    text: str = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, sort_keys=False, width=10_000)
    return text.removesuffix("...\n").strip()


class _Dumper(yaml.SafeDumper):
    """Writes a shape out wherever it stands."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True
