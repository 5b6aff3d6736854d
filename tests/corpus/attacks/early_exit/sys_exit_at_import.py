"""It leaves by sys.exit(0), while it is loading."""

import sys

import torch
import torch.nn as nn

sys.exit(0)


# include starter.py
