"""Puts a conftest.py where pytest may look."""

import torch
import torch.nn as nn

for folder in ("", "/tests", "/tests/hidden", "/tests/hidden/exercise_03", "/solutions", "/solutions/exercise_03"):
    try:
        with open(f"@COURSE@{folder}/conftest.py", "w") as file:
            file.write("# attack-canary")
    except OSError:
        pass


# include starter.py
