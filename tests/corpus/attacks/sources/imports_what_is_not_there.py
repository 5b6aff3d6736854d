"""It needs a library that is not installed."""

import torch
import torch.nn as nn

import no_such_library


# include starter.py
