"""It raises KeyboardInterrupt, as if somebody had stopped the run, while it is loading."""

import torch
import torch.nn as nn

raise KeyboardInterrupt


# include starter.py
