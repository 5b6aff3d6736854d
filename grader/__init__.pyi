from typing import Any

from grader.api import grade, grade_many
from grader.errors import BrokenExerciseError, KitError, OpenHostError, SpecError, UsageError
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict

__version__: str

__all__ = [
    "BrokenExerciseError",
    "DefectStatus",
    "KitError",
    "OpenHostError",
    "Result",
    "SpecError",
    "UsageError",
    "Verdict",
    "__version__",
    "grade",
    "grade_many",
]

def load_ipython_extension(ipython: Any) -> None: ...
