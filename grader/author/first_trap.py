"""The first model trap of a new exercise: tests for some of the checks that `new` proposes."""

from typing import Any

from grader.author.interface import FoundInterface
from grader.author.proposal import Proposal
from grader.spec.problem import BLANK

HEAD = f'''\
"""A first model trap, made from the proposed checks. It must accept every right implementation and catch each defect.

{BLANK}: write the formula by hand and compare with it; then delete this line. The other model traps show how.
"""

import torch


def built(subject):
    return subject({{arguments}})


def inputs_of(gaussian, batch):
    return {{inputs}}


def first(found):
    return found[0] if isinstance(found, tuple) else found
'''

TESTS = {
    "returns_shapes": """
def test_the_shape(subject, gaussian):
    assert first(built(subject)(**inputs_of(gaussian, 2))).shape == {shape}
""",
    "samples_do_not_mix": """
def test_samples_do_not_mix(subject, gaussian):
    module, inputs = built(subject).eval(), inputs_of(gaussian, 3)
    alone = {{name: each[1:2] for name, each in inputs.items()}}
    assert torch.allclose(first(module(**inputs))[1:2], first(module(**alone)), atol=1e-4)
""",
    "every_parameter_learns": """
def test_every_parameter_learns(subject, gaussian):
    module = built(subject)
    first(module(**inputs_of(gaussian, 2))).square().sum().backward()
    assert all(each.grad is not None and each.grad.abs().sum() > 0 for each in module.parameters())
""",
    "leaves_inputs_alone": """
def test_inputs_stay_as_they_are(subject, gaussian):
    inputs = inputs_of(gaussian, 2)
    copies = {{name: each.clone() for name, each in inputs.items()}}
    built(subject)(**inputs)
    assert all(torch.equal(each, copies[name]) for name, each in inputs.items())
""",
}
"""A test for each property that needs no reference."""

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
    shape = tuple(map(size, proposal.outputs[0]))
    parts = [HEAD.format(arguments=arguments, inputs=f"{{{inputs}}}")]
    proposed = {check["property"] for check in checks}
    parts += [text.format(shape=shape) for name, text in TESTS.items() if name in proposed]
    return "\n".join(parts)
