from typing import Any

from grader.api import agrade as agrade
from grader.api import grade as grade
from grader.api import grade_many as grade_many
from grader.api import grade_trap as grade_trap
from grader.checks.outcome import FailureKind as FailureKind
from grader.checks.outcome import Finding as Finding
from grader.checks.outcome import Outcome as Outcome
from grader.checks.outcome import Status as Status
from grader.errors import BrokenExerciseError as BrokenExerciseError
from grader.errors import KitError as KitError
from grader.errors import OpenHostError as OpenHostError
from grader.errors import SpecError as SpecError
from grader.errors import UsageError as UsageError
from grader.evaluation.answers import extract_code as extract_code
from grader.evaluation.answers import extract_tests as extract_tests
from grader.evaluation.catalogue import Hunt as Hunt
from grader.evaluation.catalogue import exercises as exercises
from grader.evaluation.cheats import cheats as cheats
from grader.evaluation.cheats import trap_cheats as trap_cheats
from grader.evaluation.fresh.hunts import fresh_hunts as fresh_hunts
from grader.evaluation.rewards import Scheme as Scheme
from grader.evaluation.rewards import reward as reward
from grader.evaluation.rewards import trap_reward as trap_reward
from grader.evaluation.seeds import Split as Split
from grader.evaluation.seeds import seed_of as seed_of
from grader.report.json import to_dict as to_dict
from grader.report.json import verdict_schema as verdict_schema
from grader.trap.result import TrapResult as TrapResult
from grader.verdict.attribution import DefectStatus as DefectStatus
from grader.verdict.attribution import Reason as Reason
from grader.verdict.attribution import UnknownReason as UnknownReason
from grader.verdict.verdict import DefectVerdict as DefectVerdict
from grader.verdict.verdict import Result as Result
from grader.verdict.verdict import Verdict as Verdict

__version__: str

def load_ipython_extension(ipython: Any) -> None: ...
