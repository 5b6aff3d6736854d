"""It says that its parameters have sizes below zero."""

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
write(encoded(message="Built", parameters={f"W_{name}.weight": [-6, -4] for name in ("query", "key", "value")}, misfits=[]))


# include starter.py
