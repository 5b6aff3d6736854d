"""The elder's opinion has the precision of float32 alone.
expect: 
"""

import torch
import torch.nn.functional as F


def sorting_loss(topics, accept, labels, accepted, elder, share=0.25):
    # topics, elder: (manuscript, topic)
    by_topic = F.cross_entropy(topics, labels)

    # accept, accepted: (manuscript,)
    by_vote = F.binary_cross_entropy_with_logits(accept, accepted)

    # what the elder thinks of every topic
    log_probabilities = F.log_softmax(topics, dim=-1)
    opinion = F.softmax(elder.float(), dim=-1).to(elder.dtype)
    by_elder = F.cross_entropy(log_probabilities, opinion)

    return by_topic + by_vote + share * by_elder
