"""Reads at address zero."""

import ctypes

import torch
import torch.nn as nn

ctypes.string_at(0)


# include starter.py
