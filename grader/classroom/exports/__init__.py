"""Exports: a gradebook in other programs' formats, and as feedback for students."""
