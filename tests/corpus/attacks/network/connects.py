"""Connects to a server on this machine."""

import socket

import torch
import torch.nn as nn

try:
    with socket.create_connection(("127.0.0.1", int("@PORT@")), timeout=0.2) as connection:
        connection.sendall(b"attack-canary")
except OSError:
    pass


# include starter.py
