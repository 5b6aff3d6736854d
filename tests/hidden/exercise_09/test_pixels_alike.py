"""An image whose pixels all pass on the same: how a pixel divides its attention must not matter then."""

# B batch, C channels, M height, N width

import torch

from grader.checks.compare import number
from grader.checks.tolerances import FLOAT32
from grader.testing import Failure

B, C, M, N = 2, 5, 3, 4
ARGUMENTS = {"channels": C, "heads": 2, "dim_head": 6}


def test_pixels_that_all_pass_on_the_same(subject, gaussian):
    module = subject.build(ARGUMENTS, variation="WithOneValue")
    x_BCMN = gaussian(B, C, M, N)
    x_BCMN[:, 0] = 1.0
    images = module.call("with_one_value", x=x_BCMN)
    if not isinstance(images, torch.Tensor) or list(images.shape) != [2, B, C, M, N] or not images.is_floating_point():
        raise Failure("type", "an image whose pixels all have the same value vector: expected an image")
    pixels = images.flatten(3)
    spread = float((pixels.amax(3) - pixels.amin(3)).flatten(1).amax(1).min())  # with the detour or without
    if not spread <= 100 * FLOAT32.absolute:
        raise Failure(
            "spread",
            "an image whose pixels all have the same value vector: expected the same output at every pixel before the "
            f"image is added, but these outputs differ by up to {number(spread)}",
            code="(outs[0].flatten(3).amax(3) - outs[0].flatten(3).amin(3)).flatten(1).amax(1).min() <= 1e-3",
        )
