"""Editors and elder are one distribution over the topics, as cross entropy is linear in it."""

import torch.nn.functional as F
from torch import nn


def sorting_loss(topics, accept, labels, accepted, elder, share=0.25):
    wanted = F.one_hot(labels, topics.shape[-1]).to(topics.dtype) + share * elder.softmax(-1)
    by_topic = -(wanted * topics.log_softmax(-1)).sum(-1).mean()
    return by_topic + nn.BCEWithLogitsLoss()(accept, accepted)
