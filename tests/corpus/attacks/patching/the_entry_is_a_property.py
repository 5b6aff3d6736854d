"""The submission's module hands out another class at every look."""

import sys
import types

import torch
import torch.nn as nn

class Fickle(types.ModuleType):
    @property
    def CausalSelfAttention(self):
        return nn.Identity


sys.modules[__name__].__class__ = Fickle


# include starter.py
