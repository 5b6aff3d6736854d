"""The course: where exercises lie, and exercise.yaml -> Exercise (frozen records), every mistake with its place."""
