"""Starts a program in a session of its own."""

import subprocess

import torch
import torch.nn as nn

try:
    subprocess.Popen(["/bin/sleep", "600"], start_new_session=True)
except OSError:
    pass


# include starter.py
