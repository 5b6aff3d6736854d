"""Runs a shell."""

import os

import torch
import torch.nn as nn

os.system('echo attack-canary > @COURSE@/attack-canary-shell')


# include starter.py
