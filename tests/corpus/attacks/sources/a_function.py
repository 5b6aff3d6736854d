"""A function has the class's name."""

import torch
import torch.nn as nn


def CausalSelfAttention(**arguments):
    return nn.Identity()
