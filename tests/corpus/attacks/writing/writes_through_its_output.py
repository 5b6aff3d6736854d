"""Opens the files behind its stdout and stderr anew, to write what it likes."""

import torch
import torch.nn as nn

for number in (0, 1, 2):
    for mode in ("r+b", "ab"):
        try:
            with open(f"/proc/self/fd/{number}", mode) as file:
                file.write(b"attack-canary")
        except OSError:
            pass


# include starter.py
