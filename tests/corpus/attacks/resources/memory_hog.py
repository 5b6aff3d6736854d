"""Takes memory until there is none."""

import torch
import torch.nn as nn

hoard = []
while True:
    hoard.append(bytearray(10_000_000))


# include starter.py
