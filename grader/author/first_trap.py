"""The first model trap of a new exercise: tests for some of the checks that `new` proposes."""

from typing import Any

from grader.author.interface import FoundInterface
from grader.author.proposal import Proposal
from grader.report.rendering import text_templates
from grader.spec.problem import BLANK

BATCH = 2


def first_trap(interface: FoundInterface, proposal: Proposal, checks: list[dict[str, Any]]) -> str:
    """Return the text of a first model trap; empty if the inputs are not all Gaussian or an argument is unknown."""
    shapes = {name: shape for name, shape in proposal.inputs.items() if isinstance(shape, list)}
    if not interface.kind.is_module or not shapes or len(shapes) < len(proposal.inputs) or proposal.blanks:
        return ""
    sizes: dict[str, Any] = {**proposal.fixed_sizes[-1], "batch": BATCH}

    def size(name: Any) -> Any:
        return sizes.get(name, name) if isinstance(name, str) else name

    arguments = ", ".join(f"{name}={size(value)!r}" for name, value in proposal.constructor.items())
    inputs = ", ".join(
        f'"{name}": gaussian({", ".join("batch" if each == "batch" else str(size(each)) for each in shape)})'
        for name, shape in shapes.items()
    )
    template = text_templates("grader.author", trim_blocks=True).get_template("trap.py.j2")
    return template.render(
        blank=BLANK,
        arguments=arguments,
        inputs=inputs,
        shape=tuple(map(size, proposal.outputs[0])),
        properties={check["property"] for check in checks},
    )
