"""It kills itself; where that is refused, the refusal is an error like any other, while it is loading."""

import os
import signal

import torch
import torch.nn as nn

os.kill(os.getpid(), signal.SIGKILL)


# include starter.py
