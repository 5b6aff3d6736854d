"""exercise.yaml -> Exercise (frozen records)."""

from grader.exercise.fragments import mend, put_back
from grader.exercise.records import Defect, Exercise, Limits
from grader.exercise.remembered import load_exercise

__all__ = ["Defect", "Exercise", "Limits", "load_exercise", "mend", "put_back"]
