"""Layouts: how the submissions of a class lie in a folder, a file or an archive."""
