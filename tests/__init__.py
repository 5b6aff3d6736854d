"""The kit's own tests, arranged by room; `tests/README.md` tells which is where."""
