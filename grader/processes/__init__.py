"""Examiner processes: one process, a pool of them, and what this machine offers them."""
