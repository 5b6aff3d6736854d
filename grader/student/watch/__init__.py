"""Grade on every save: saves and key presses come in, events to show come out."""
