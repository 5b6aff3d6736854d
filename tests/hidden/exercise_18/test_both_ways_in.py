"""What reaches the output: by the detour, and through what was seen."""

# B batch, T words, S patches, D model size

import torch

from grader.checks.compare import compare, number, require_close, require_shape, require_tensor
from grader.checks.tolerances import FLOAT32, Tolerance
from grader.testing import Failure

B, T, S, D = 2, 3, 5, 12
ARGUMENTS = {"d_model": D, "n_heads": 2}
SHIFT = 5.0
LOUD = 1e6
ROUNDED = Tolerance(relative=0.0, absolute=0.0, of_largest=1e-2)
"""A softmax may be one of float32, which rounds loud scores."""


def test_a_shift_of_all_features_passes_through(subject, gaussian):
    module = subject.build(ARGUMENTS)
    x_BTD, memory_BSD = gaussian(B, T, D), gaussian(B, S, D)
    before, after = module(x=x_BTD, memory=memory_BSD), module(x=x_BTD + SHIFT, memory=memory_BSD)
    for seen in (before, after):
        require_tensor(seen, "output")
        require_shape(seen, [B, T, D], "output")
    item = f"{SHIFT:g} added to all features of x: the change of the output"
    require_close(after - before, torch.full((B, T, D), SHIFT), item, FLOAT32)


def test_the_output_answers_to_what_was_seen(subject, gaussian):
    module = subject.build(ARGUMENTS)
    x_BTD = gaussian(B, T, D)
    one, other = (module(x=x_BTD, memory=gaussian(B, S, D)) for _ in range(2))
    for seen in (one, other):
        require_tensor(seen, "output")
        require_shape(seen, [B, T, D], "output")
    change = float((one - other).abs().amax(dim=-1).min())
    if not change > FLOAT32.absolute:
        raise Failure(
            "deaf",
            f"another memory: expected the output to change at every word; the least change is {number(change)}",
        )


def test_a_loud_memory_stays_hidden(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS, dtype="float64")
    ours = subject.build(ARGUMENTS, like=theirs, dtype="float64")
    x, memory = gaussian(B, S, D).double(), LOUD * gaussian(B, S, D).double()
    mask = torch.ones(B, S, dtype=torch.bool)
    mask[:, 1:4] = False
    inputs = {"x": x, "memory": memory, "memory_mask": mask}
    compare(ours(**inputs), theirs(**inputs), f"a memory {LOUD:g} times as loud, with a mask: output", ROUNDED)
