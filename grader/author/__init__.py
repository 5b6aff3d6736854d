"""Tools for instructors: create, prove and release exercises."""
