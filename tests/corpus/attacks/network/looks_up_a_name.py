"""Asks for a host's address: a name can carry a secret out."""

import socket

import torch
import torch.nn as nn

try:
    socket.getaddrinfo("attack-canary.invalid", 80)
except OSError:
    pass


# include starter.py
