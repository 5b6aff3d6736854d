"""The process stops itself, as Ctrl-Z would."""

import os
import signal

import torch
import torch.nn as nn

os.kill(os.getpid(), signal.SIGSTOP)


# include starter.py
