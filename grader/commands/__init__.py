"""The commands, grouped by audience."""
