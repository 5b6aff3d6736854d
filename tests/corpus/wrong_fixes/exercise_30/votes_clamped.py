"""Sure chances are cut off, and cost too little.
expect: broken
"""

import torch
import torch.nn.functional as F


def sorting_loss(topics, accept, labels, accepted, elder, share=0.25):
    # topics, elder: (manuscript, topic)
    by_topic = F.cross_entropy(topics, labels)

    # accept, accepted: (manuscript,)
    by_vote = F.binary_cross_entropy(torch.sigmoid(accept).clamp(1e-7, 1 - 1e-7), accepted)

    # what the elder thinks of every topic
    log_probabilities = F.log_softmax(topics, dim=-1)
    opinion = F.softmax(elder, dim=-1)
    by_elder = F.cross_entropy(log_probabilities, opinion)

    return by_topic + by_vote + share * by_elder
