"""Verdict -> text for a reader: a person at a terminal, or a program."""
