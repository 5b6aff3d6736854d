"""Starts a hundred processes that sleep."""

import os
import time

import torch
import torch.nn as nn

for _ in range(100):
    try:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    except OSError:
        break


# include starter.py
