"""Every module that the worker has loaded is gone."""

import sys

import torch
import torch.nn as nn

for name in [name for name in sys.modules if name.startswith(("grader", "msgspec", "struct", "socket", "traceback"))]:
    del sys.modules[name]


# include starter.py
