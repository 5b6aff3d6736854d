"""Every part written out with logarithms."""

import torch


def log_softmax(z):
    return z - torch.logsumexp(z, dim=-1, keepdim=True)


def sorting_loss(topics, accept, labels, accepted, elder, share=0.25):
    logs = log_softmax(topics)
    by_topic = -logs[torch.arange(len(labels), device=labels.device), labels].mean()
    yes = -torch.logaddexp(torch.zeros_like(accept), -accept)
    no = -torch.logaddexp(torch.zeros_like(accept), accept)
    by_vote = -(accepted * yes + (1 - accepted) * no).mean()
    by_elder = -(log_softmax(elder).exp() * logs).sum(-1).mean()
    return by_topic + by_vote + share * by_elder
