"""Saves tensors, which torch writes with code of its own."""

import torch
import torch.nn as nn

for folder in ("@COURSE@", "/tmp", "/dev/shm"):
    try:
        torch.save(torch.ones(9), f"{folder}/attack-canary.pt")
    except (OSError, RuntimeError):
        pass


# include starter.py
