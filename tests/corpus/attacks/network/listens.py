"""Opens a port for others."""

import socket

import torch
import torch.nn as nn

try:
    kept = socket.create_server(("0.0.0.0", 0))
except OSError:
    pass


# include starter.py
