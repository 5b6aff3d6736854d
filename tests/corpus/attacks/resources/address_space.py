"""Reserves address space without touching it."""

import mmap

import torch
import torch.nn as nn

kept = []
while True:
    kept.append(mmap.mmap(-1, 1 << 26))


# include starter.py
