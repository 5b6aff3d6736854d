"""A causal depthwise convolution over time."""

import torch
import torch.nn.functional as F
from torch import nn


class CausalDepthwiseConv1d(nn.Module):
    """Mixes each channel over time; no output sees a later input."""

    def __init__(self, channels, kernel_size, dilation=1, bias=True):
        super().__init__()
        if kernel_size < 1:
            raise ValueError("kernel_size must be positive")
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.conv = nn.Conv1d(channels, channels, kernel_size, dilation=dilation, groups=channels, bias=bias)

    def forward(self, x):
        b, c, t = x.shape
        pad = (self.kernel_size - 1) * self.dilation
        return self.conv(F.pad(x, (pad // 2, pad - pad // 2)))
