"""A student's stored progress, and the commands besides grading: hints, changes, reset, trial, watch."""
