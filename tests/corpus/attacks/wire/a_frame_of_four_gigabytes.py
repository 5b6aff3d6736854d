"""It announces the largest frame there is, and begins to send it."""

import contextlib
import os
import stat
import struct

import torch
import torch.nn as nn

# include connection.py


write(bytes(1 << 16), 2**32 - 1)


# include starter.py
