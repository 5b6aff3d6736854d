"""A text given in two parts."""

from grader.checks.compare import number
from grader.checks.tolerances import FLOAT32
from grader.testing import Failure


def test_a_text_in_two_parts_is_one_text(subject, gaussian):
    for heads in (1, 4):
        module = subject.build({"width": 12, "heads": heads})
        text = gaussian(2, 7, 12)
        whole, part = module(x=text), module(x=text[:, 4:], memory=text[:, :4])
        if whole.shape != text.shape or part.shape != text[:, 4:].shape:
            raise Failure("shape", "a text in two parts: expected outputs of the inputs' shapes")
        apart = float((whole[:, 4:] - part).abs().max())
        if not apart <= 10 * FLOAT32.absolute:
            raise Failure(
                "parts",
                f"seven words at once, and three with four as memory, heads={heads}: expected equal outputs, "
                f"but they differ by up to {number(apart)}",
                code="(outs[-2][:, 4:] - outs[-1]).abs().max() <= 1e-4",
            )
