"""exercise.yaml -> Exercise (frozen records)."""

from grader.exercise.fragments import mend, put_back
from grader.exercise.reading import load_exercise
from grader.exercise.records import Defect, Exercise, Limits

__all__ = ["Defect", "Exercise", "Limits", "load_exercise", "mend", "put_back"]
