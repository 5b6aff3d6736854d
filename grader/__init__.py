"""A bug-hunting course in attention code, and the grader that judges it."""
