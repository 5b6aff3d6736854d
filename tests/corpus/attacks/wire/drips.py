"""It announces a frame and sends a byte of it now and then."""

import contextlib
import os
import stat
import struct
import time

import torch
import torch.nn as nn

# include connection.py


write(b"\x86", 4000)
while True:
    os.write(connection(), b"\x86")
    time.sleep(0.05)


# include starter.py
