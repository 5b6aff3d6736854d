"""Prints 200 MB while it is loading."""

import torch
import torch.nn as nn

for _ in range(200):
    print('x' * 1_000_000)


# include starter.py
