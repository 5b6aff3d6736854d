"""Linear layers make every weight alike."""

import torch
import torch.nn as nn

nn.Linear.reset_parameters = lambda self: [nn.init.zeros_(parameter) for parameter in self.parameters()]
nn.init.kaiming_uniform_ = lambda tensor, *_, **__: nn.init.zeros_(tensor)


# include starter.py
