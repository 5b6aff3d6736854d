"""Processes that start processes, seven generations deep."""

import os
import time

import torch
import torch.nn as nn

first = os.getpid()
try:
    for _ in range(7):
        if os.fork() == 0:
            continue
        if os.getpid() != first:
            time.sleep(600)
except OSError:
    pass
if os.getpid() != first:
    time.sleep(600)
    os._exit(0)


# include starter.py
