from typing import Any

from grader.api import grade as grade
from grader.api import grade_many as grade_many
from grader.errors import BrokenExerciseError as BrokenExerciseError
from grader.errors import KitError as KitError
from grader.errors import OpenHostError as OpenHostError
from grader.errors import SpecError as SpecError
from grader.errors import UsageError as UsageError
from grader.verdict.attribution import DefectStatus as DefectStatus
from grader.verdict.verdict import Result as Result
from grader.verdict.verdict import Verdict as Verdict

__version__: str

def load_ipython_extension(ipython: Any) -> None: ...
