"""What the newest hour finds, with hours that were not observed, other ones in each sample."""

# T time, B batch, W width

import torch

from grader.checks.compare import compare, require_shape, require_tensor

T, B, W = 6, 3, 12
ARGUMENTS = {"width": W, "heads": 2}
SILENT = {0: [], 1: [5], 2: [1, 2, 4]}


def test_the_newest_hour_shares_all_of_its_attention(subject, reference, gaussian):
    theirs = reference.build(ARGUMENTS)
    ours = subject.build(ARGUMENTS, like=theirs)
    inputs = {"series": gaussian(T, B, W), "observed": observed_hours()}
    seen, expected = ours(**inputs), theirs(**inputs)
    require_tensor(seen, "output")
    require_shape(seen, list(expected.shape), "with hours that were not observed: output")
    compare(seen[-1], expected[-1], "with hours that were not observed: output at the newest hour")


def observed_hours():
    observed = torch.ones(T, B, dtype=torch.bool)
    for sample, hours in SILENT.items():
        observed[hours, sample] = False
    return observed
