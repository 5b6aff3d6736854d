"""An instance has the class's name."""

import torch
import torch.nn as nn


CausalSelfAttention = nn.Identity()
