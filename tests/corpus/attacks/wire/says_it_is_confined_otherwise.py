"""It says once more how it is confined: in no way, as it says."""

import contextlib
import msgspec
import os
import stat
import struct

import torch
import torch.nn as nn

# include connection.py


def encoded(**fields):
    return msgspec.msgpack.encode(fields)


write(encoded(message="Isolation", process=False, filesystem=False, network=False, syscalls=False, memory=False))


# include starter.py
