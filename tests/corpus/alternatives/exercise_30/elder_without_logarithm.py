"""The elder is compared with the logits themselves, which is the same."""

import torch
import torch.nn.functional as F


def sorting_loss(topics, accept, labels, accepted, elder, share=0.25):
    # topics, elder: (manuscript, topic)
    by_topic = F.cross_entropy(topics, labels)

    # accept, accepted: (manuscript,)
    by_vote = F.binary_cross_entropy_with_logits(accept, accepted)

    # what the elder thinks of every topic
    opinion = F.softmax(elder, dim=-1)
    by_elder = F.cross_entropy(topics, opinion)

    return by_topic + by_vote + share * by_elder
