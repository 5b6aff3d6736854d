"""Reads the memory of the examiner and of the nursery through /proc."""

import os

import torch
import torch.nn as nn

found, word = "", b"canary" + b"-"
for process in (os.getppid(), "@EXAMINER@"):
    try:
        with open(f"/proc/{process}/maps", encoding="ascii") as maps, open(f"/proc/{process}/mem", "rb") as memory:
            for line in maps:
                span, rights = line.split()[:2]
                if rights == "rw-p":
                    start, end = (int(each, 16) for each in span.split("-"))
                    memory.seek(start)
                    part = memory.read(min(end - start, 50_000_000))
                    if word in part:
                        found += part[part.index(word) :][:100].decode(errors="replace")
    except (OSError, ValueError):
        pass
if found:
    raise RuntimeError(f"read: {found[:1500]}")


# include starter.py
