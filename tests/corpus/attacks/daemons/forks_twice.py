"""Leaves a daemon behind: forks, starts a session, forks again."""

import os
import time

import torch
import torch.nn as nn

try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
except OSError:
    pass


# include starter.py
