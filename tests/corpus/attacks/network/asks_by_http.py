"""Fetches a page."""

import urllib.request

import torch
import torch.nn as nn

try:
    urllib.request.urlopen("http://127.0.0.1:@PORT@/attack-canary", timeout=0.2).read()
except (OSError, ImportError):
    pass


# include starter.py
