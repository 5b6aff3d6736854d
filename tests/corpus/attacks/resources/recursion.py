"""Calls itself for ever."""

import torch
import torch.nn as nn

def again():
    again()

again()


# include starter.py
