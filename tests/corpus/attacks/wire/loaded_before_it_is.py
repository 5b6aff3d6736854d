"""It says that it is loaded before it is, and then fails to load."""

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


write(encoded(message="Loaded", classes=["CausalSelfAttention"], entry_found=True, entry_is_module=True, trees={}))
raise RuntimeError("not loaded at all")


# include starter.py
