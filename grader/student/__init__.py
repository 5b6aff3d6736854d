"""What the kit stores for a student, and commands besides grading: hints, changes, reset, trial, watch."""
