"""It raises SystemExit with a code that is no number, while it is loading."""

import torch
import torch.nn as nn

raise SystemExit('passed')


# include starter.py
