"""A regular expression that takes longer than the universe."""

import re

import torch
import torch.nn as nn

re.match('(a+)+$', 'a' * 64 + 'b')


# include starter.py
