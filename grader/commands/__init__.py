"""The commands, grouped by audience. Only they and `cli.py` print, read arguments or set exit codes."""
