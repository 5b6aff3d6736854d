"""Lifts the limit of recursion, and calls itself until the stack ends."""

import sys

import torch
import torch.nn as nn

sys.setrecursionlimit(10**9)

class Again:
    def __repr__(self):
        return repr(self)

repr(Again())


# include starter.py
