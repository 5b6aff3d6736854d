"""It says that what could not be copied has a name of megabytes."""

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


write(encoded(message="Loaded", classes=["C" * 3_000_000], entry_found=True, entry_is_module=True, trees={}))
write(encoded(message="Built", parameters={"W" * 3_000_000: [1]}, misfits=[{"message": "Misfit", "name": "outcome: fixed " * 200_000, "expected": []}]))


# include starter.py
