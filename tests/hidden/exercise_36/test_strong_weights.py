"""Large weights of the norm, which make scores of hundreds and more."""

# B batch, C count of patches, W width

from grader.checks.compare import compare, compare_gradients

B, C, W = 3, 9, 12
ARGUMENTS = {"width": W, "heads": 3}
STRENGTHS = (6.0, 30.0, 200.0)
PROBE = """
class Variation(submission.PatchAttention):
    def strengthen(self, factor):
        with torch.no_grad():
            self.norm.weight.mul_(factor)
"""


def test_scores_of_any_magnitude(subject, reference, gaussian):
    for strength in STRENGTHS:
        theirs = reference.build(ARGUMENTS, dtype="float64", probe=PROBE, entry="Variation")
        ours = subject.build(ARGUMENTS, dtype="float64", like=theirs, probe=PROBE, entry="Variation")
        for module in (ours, theirs):
            module.call("strengthen", factor=strength)
        x = gaussian(B, C, W).double()
        expected = theirs.differentiate(None, patches=x)
        observed = ours.differentiate(expected.cotangents, patches=x)
        compare(observed.value, expected.value, f"the norm's weight {strength:g} times as large, in float64: output")
        compare_gradients(observed.parameters, expected.parameters)
