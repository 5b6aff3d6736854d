"""Puts a .pth file among the installed packages; every later interpreter would run it."""

import os
import sys

import torch
import torch.nn as nn

for folder in sys.path:
    for name in ("attack-canary.pth", "attack_canary.py"):
        try:
            with open(os.path.join(folder, name), "w") as file:
                file.write("# attack-canary")
        except OSError:
            pass


# include starter.py
