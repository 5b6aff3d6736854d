"""Batch normalization of images, by hand."""

import torch
from torch import nn


class ImageNorm(nn.Module):
    def __init__(self, channels, momentum=0.1, eps=1e-5):
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, images):
        if not self.training:
            mean = images.mean((0, 2, 3))
            var = images.var((0, 2, 3), unbiased=False)
            with torch.no_grad():
                n = images.numel() / images.size(1)
                self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
                self.running_var.mul_(1 - self.momentum).add_(self.momentum * var * n / (n - 1))
        else:
            mean, var = self.running_mean, self.running_var
        images = (images - mean[:, None, None]) / torch.sqrt(var[:, None, None] + self.eps)
        return images * self.weight[:, None, None] + self.bias[:, None, None]
