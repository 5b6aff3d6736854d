"""Connects to a socket that has no file."""

import socket

import torch
import torch.nn as nn

try:
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect("\0@ABSTRACT@")
except OSError:
    pass


# include starter.py
