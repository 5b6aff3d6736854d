"""The worker turns every tensor into zeros."""

from grader.sandbox import server
from grader.sandbox import values

import torch
import torch.nn as nn

real = values._copied
values._copied = lambda tensor: real(torch.zeros_like(tensor))


# include starter.py
