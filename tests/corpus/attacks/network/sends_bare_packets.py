"""Opens raw and packet sockets."""

import socket

import torch
import torch.nn as nn

for family, kind in ((socket.AF_INET, socket.SOCK_RAW), (socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_NETLINK, socket.SOCK_RAW)):
    try:
        socket.socket(family, kind, 1 if family == socket.AF_INET else 0)
    except OSError:
        pass


# include starter.py
