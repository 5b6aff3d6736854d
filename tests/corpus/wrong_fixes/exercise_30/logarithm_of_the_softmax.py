"""A logarithm of a softmax: minus infinity where the softmax is zero.
expect: fixed=vote-squashed-twice
"""

import torch
import torch.nn.functional as F


def sorting_loss(topics, accept, labels, accepted, elder, share=0.25):
    # topics, elder: (manuscript, topic)
    by_topic = F.nll_loss(F.softmax(topics, dim=-1).log(), labels)

    # accept, accepted: (manuscript,)
    by_vote = F.binary_cross_entropy_with_logits(accept, accepted)

    # what the elder thinks of every topic
    log_probabilities = F.log_softmax(topics, dim=-1)
    opinion = F.softmax(elder, dim=-1)
    by_elder = F.cross_entropy(log_probabilities, opinion)

    return by_topic + by_vote + share * by_elder
