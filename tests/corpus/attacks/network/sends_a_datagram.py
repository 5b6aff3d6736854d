"""Sends a datagram, which no connection has to be made for."""

import socket

import torch
import torch.nn as nn

try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"attack-canary", ("127.0.0.1", int("@PORT@")))
except OSError:
    pass


# include starter.py
