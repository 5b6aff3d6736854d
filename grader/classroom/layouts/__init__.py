"""Layouts: the arrangement of a class's submissions in a folder, a file or an archive."""
