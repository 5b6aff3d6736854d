"""Looks at what the process and its parents have mapped."""

import os

import torch
import torch.nn as nn

found = ""
for process in (os.getppid(), "@EXAMINER@"):
    try:
        with open(f"/proc/{process}/maps", encoding="ascii") as file:
            found += file.read()[:200]
    except OSError:
        pass
if found:
    raise RuntimeError(f"read: {found[:1500]}")


# include starter.py
