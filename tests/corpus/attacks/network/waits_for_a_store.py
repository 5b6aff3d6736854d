"""Starts torch's own store, which serves and connects."""

import torch
import torch.nn as nn

try:
    import torch.distributed

    torch.distributed.TCPStore("127.0.0.1", int("@PORT@"), is_master=False, timeout=__import__("datetime").timedelta(seconds=0.2))
except BaseException:
    pass


# include starter.py
