"""Overwrites the exercise that the student sees."""

import torch
import torch.nn as nn

try:
    with open("@COURSE@/exercises/exercise_03/attention.py", "w") as file:
        file.write("overwritten")
except OSError:
    pass


# include starter.py
