"""Every signal that may be ignored is, and then nothing ends."""

import signal
import time

import torch
import torch.nn as nn

for each in {*range(1, 65)} - {9, 19, 32, 33}:
    signal.signal(each, signal.SIG_IGN)
while True:
    try:
        time.sleep(60)
    except BaseException:
        pass


# include starter.py
