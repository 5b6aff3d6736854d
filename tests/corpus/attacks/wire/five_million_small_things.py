"""It says that it has five million classes without a name."""

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


names = msgspec.msgpack.encode([""])[1:] * 5_000_000
body = encoded(message="Loaded", entry_found=True, entry_is_module=True, trees={})
write(bytes([body[0] + 1]) + body[1:] + msgspec.msgpack.encode("classes") + b"\xdd" + struct.pack(">I", 5_000_000) + names)


# include starter.py
