"""What ends generators is raised while the file is loading."""

import torch
import torch.nn as nn

raise GeneratorExit


# include starter.py
