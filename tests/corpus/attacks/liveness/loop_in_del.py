"""A finaliser that never ends, run while the file is loading."""

import torch
import torch.nn as nn

class Last:
    def __del__(self):
        while True:
            pass

Last()


# include starter.py
