"""The slopes by themselves, for every number of heads; and a text given in two parts."""

from grader.examiner.compare import FLOAT32, Failure, compare, number

ARGUMENTS = {"width": 12, "heads": 3}
HEADS = (*range(1, 18), 64, 100)
PROBE = """
class Variation(submission.NearAttention):
    def slopes_of(self, heads):
        return torch.tensor([float(slope) for slope in submission.slopes(heads)], dtype=torch.float64)
"""


def test_slopes_for_every_number_of_heads(subject, reference):
    theirs = reference.build(ARGUMENTS, probe=PROBE, entry="Variation")
    ours = subject.build(ARGUMENTS, probe=PROBE, entry="Variation")
    for heads in HEADS:
        inputs = {"heads": heads}
        compare(ours.call("slopes_of", **inputs), theirs.call("slopes_of", **inputs), f"slopes({heads})")


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
                f"seven words at once, and three with four as memory, heads={heads}: expected the same, "
                f"saw them differ by up to {number(apart)}",
            )
