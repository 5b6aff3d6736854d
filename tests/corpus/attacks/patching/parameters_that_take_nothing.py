"""Copying into a parameter is forgotten."""

import torch
import torch.nn as nn

torch.Tensor.copy_ = lambda self, *_, **__: self


# include starter.py
