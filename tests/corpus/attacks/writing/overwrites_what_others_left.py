"""Overwrites what lies about where everybody may write."""

import os

import torch
import torch.nn as nn

for folder in ("/tmp", "/var/tmp", "/dev/shm"):
    try:
        for name in os.listdir(folder):
            if name.startswith("attack-bait"):
                with open(f"{folder}/{name}", "w") as file:
                    file.write("attack-canary")
    except OSError:
        pass


# include starter.py
