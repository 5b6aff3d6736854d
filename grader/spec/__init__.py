"""The course folder, and the records of an exercise.yaml with the code that reads and validates it."""
