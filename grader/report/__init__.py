"""Turn verdicts into text for people and for programs."""
