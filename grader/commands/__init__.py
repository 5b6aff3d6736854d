"""The commands, grouped by audience. Only they and `cli.py` read arguments and set exit codes."""
