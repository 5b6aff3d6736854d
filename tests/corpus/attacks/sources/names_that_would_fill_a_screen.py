"""Classes with names of a hundred thousand letters."""

import torch
import torch.nn as nn

for number in range(1000):
    globals()[f"C{number}"] = type(f"C{number}" + "x" * 100_000, (), {"__module__": __name__})


