"""What is built is a module of another class, which changes from one time to the next."""

import itertools

import torch
import torch.nn as nn


# include starter.py


class Fickle(CausalSelfAttention):
    def __new__(cls, *_, **__):
        return nn.Module.__new__(next(kinds))


Right = CausalSelfAttention
CausalSelfAttention = Fickle
kinds = itertools.cycle([Fickle, Right])
