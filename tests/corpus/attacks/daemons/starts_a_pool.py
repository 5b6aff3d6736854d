"""Starts a pool of processes."""

import multiprocessing

import torch
import torch.nn as nn

try:
    pool = multiprocessing.get_context("fork").Pool(2)
except (OSError, ImportError):
    pass


# include starter.py
