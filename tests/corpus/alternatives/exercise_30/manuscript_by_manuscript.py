"""A loop over the manuscripts."""

import torch
import torch.nn.functional as F


def one(topics, accept, label, accepted, elder, share):
    logs = torch.log_softmax(topics, 0)
    vote = -accepted * F.logsigmoid(accept) - (1 - accepted) * F.logsigmoid(-accept)
    return vote - logs[label] - share * torch.dot(torch.softmax(elder, 0), logs)


def sorting_loss(topics, accept, labels, accepted, elder, share=0.25):
    rows = zip(topics, accept, labels, accepted, elder)
    return torch.stack([one(*row, share) for row in rows]).mean()
