"""Traps: judge tests that a student writes, on right implementations and on defective ones."""
