"""A function that never ends, registered to run at exit."""

import atexit

import torch
import torch.nn as nn

@atexit.register
def last():
    while True:
        pass


# include starter.py
