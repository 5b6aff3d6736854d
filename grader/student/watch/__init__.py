"""Grading on every save: what is saved and pressed comes in, events to show come out."""
