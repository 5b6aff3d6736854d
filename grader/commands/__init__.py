"""The commands, grouped by who gives them: with `cli.py` the only ones that print, read arguments or set exit codes."""
