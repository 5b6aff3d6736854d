"""What the kit remembers for a student, and what a student does besides grading: hints, changes, starting again."""
