"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch
import torch.nn.functional as F


def test_the_formula(subject, gaussian):
    topics, elder, accept = 5 * gaussian(4, 3), 5 * gaussian(4, 3), 5 * gaussian(4)
    labels, accepted = torch.tensor([0, 2, 1, 1]), torch.tensor([0.0, 0.25, 1.0, 0.5])
    chances = F.log_softmax(topics, -1)
    by_topic = -chances[torch.arange(4), labels].mean()
    by_vote = -(accepted * F.logsigmoid(accept) + (1 - accepted) * F.logsigmoid(-accept)).mean()
    by_elder = -(elder.softmax(-1) * chances).sum(-1).mean()
    found = subject(topics, accept, labels, accepted, elder, share=0.5)
    assert torch.allclose(found, by_topic + by_vote + 0.5 * by_elder, atol=1e-4)
