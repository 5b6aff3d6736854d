"""Forks, and parent and child both answer the examiner."""

import os

import torch
import torch.nn as nn

try:
    os.fork()
except OSError:
    pass


# include starter.py
