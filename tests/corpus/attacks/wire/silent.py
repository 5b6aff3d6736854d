"""It takes every request and never says a word."""

import contextlib
import os
import stat
import struct

import torch
import torch.nn as nn

# include connection.py


while os.read(connection(), 1 << 16):
    pass


# include starter.py
