"""Renames, removes, links and changes the mode of the course's files."""

import os

import torch
import torch.nn as nn

for attempt in (
    lambda: os.rename("@COURSE@/exercises", "@COURSE@/moved"),
    lambda: os.unlink("@COURSE@/exercises/exercise_03/attention.py"),
    lambda: os.symlink("/etc/passwd", "@COURSE@/exercises/link"),
    lambda: os.link("@COURSE@/solutions/exercise_03/attention.py", "@COURSE@/exercises/link"),
    lambda: os.chmod("@COURSE@/solutions/exercise_03", 0o777),
    lambda: os.truncate("@COURSE@/solutions/exercise_03/attention.py", 0),
    lambda: os.utime("@COURSE@/exercises/exercise_03/attention.py", (0, 0)),
    lambda: os.mkfifo("@COURSE@/exercises/fifo"),
    lambda: os.mkdir("@COURSE@/exercises/folder"),
    lambda: os.setxattr("@COURSE@/exercises", "user.attack", b"canary"),
):
    try:
        attempt()
    except OSError:
        pass


# include starter.py
