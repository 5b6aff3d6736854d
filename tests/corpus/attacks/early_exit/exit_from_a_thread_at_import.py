"""It leaves from another thread, while it is loading."""

import os
import threading

import torch
import torch.nn as nn

thread = threading.Thread(target=os._exit, args=(0,))
thread.start()
thread.join()


# include starter.py
