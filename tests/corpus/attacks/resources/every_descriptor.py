"""Opens descriptors until there are no more, and keeps them."""

import os

import torch
import torch.nn as nn

kept = []
try:
    while True:
        kept.append(os.dup(0))
except OSError:
    pass


# include starter.py
