"""An exception whose text takes for ever."""

import torch
import torch.nn as nn

class Odd(Exception):
    def __str__(self):
        while True:
            pass

raise Odd


# include starter.py
