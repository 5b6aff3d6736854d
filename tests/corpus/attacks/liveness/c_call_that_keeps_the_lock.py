"""A call into C that sleeps without giving the interpreter back."""

import ctypes

import torch
import torch.nn as nn

ctypes.PyDLL(None).sleep(600)


# include starter.py
