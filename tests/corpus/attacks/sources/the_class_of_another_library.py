"""The class is one of torch's own."""

import torch
import torch.nn as nn


CausalSelfAttention = nn.MultiheadAttention
