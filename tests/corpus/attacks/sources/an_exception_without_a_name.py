"""An exception whose class has no name and whose text is not one."""

import torch
import torch.nn as nn

class Nameless(Exception):
    __qualname__ = "outcome: fixed"
    __str__ = lambda self: 10


raise Nameless


# include starter.py
