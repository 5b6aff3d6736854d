"""Connects to a socket in the file system."""

import socket

import torch
import torch.nn as nn

try:
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect("@COURSE@/socket")
except OSError:
    pass


# include starter.py
