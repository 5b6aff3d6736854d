"""A finaliser that never ends, of an object that lives as long as the module."""

import torch
import torch.nn as nn

class Last:
    def __del__(self):
        while True:
            pass

kept = Last()


# include starter.py
