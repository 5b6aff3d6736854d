"""Bytes that are no message, while it is loading."""

import contextlib
import os
import stat
import struct

import torch
import torch.nn as nn

# include connection.py


os.write(connection(), b"\xc1" * 4096)


# include starter.py
