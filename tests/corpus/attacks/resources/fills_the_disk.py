"""Writes files as large as it may, wherever it may."""

import torch
import torch.nn as nn

for folder in ("/tmp", "/var/tmp", "/dev/shm", "/", "@COURSE@"):
    for number in range(20):
        try:
            with open(f"{folder}/attack-canary-{number}", "wb") as file:
                for _ in range(200):
                    file.write(bytes(1_000_000))
        except OSError:
            break


# include starter.py
