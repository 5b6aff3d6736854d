"""Logarithms once, for the editors and for the elder."""

import torch.nn.functional as F


def sorting_loss(topics, accept, labels, accepted, elder, share=0.25):
    logs = F.log_softmax(topics, dim=1)
    by_topic = F.nll_loss(logs, labels)
    by_vote = F.binary_cross_entropy_with_logits(accept, accepted)
    by_elder = -(F.softmax(elder, dim=1) * logs).sum() / len(topics)
    return by_topic + by_vote + by_elder * share
