"""Judge traps in a pool's processes, which hold torch and pytest between traps."""

from msgspec import Struct

from grader.processes.deadlines import TRAP_ANSWER_SECONDS, TRAP_PROOF_ANSWER_SECONDS
from grader.processes.examiner_process import Service, ServiceRequest
from grader.processes.pool import ExaminerPool, PoolClient
from grader.spec.paths import Course
from grader.trap.implementations import Home
from grader.trap.result import TrapResult
from grader.trap.session import Trap

SERVICE = "grader.trap.service"


class TrapRequest(Struct, frozen=True, kw_only=True):
    """A request for the result of a trap."""

    exercise: str
    trap: Trap
    seed: int
    is_proof: bool = False
    home: Home | None = None


class PooledTrapJudge:
    """Judges traps of one course, from any number of threads. `lanes` as for `TrapJudge`."""

    def __init__(self, pool: ExaminerPool, course: Course, *, strict: bool = False, lanes: int = 1) -> None:
        self._course = course
        options = ["--strict"] if strict else []
        self._client = PoolClient(pool, Service(module=SERVICE, arguments=(str(course.root), str(lanes), *options)))

    def cancel(self) -> None:
        """Kill the busy processes and cancel later requests. Callable from any thread."""
        self._client.cancel()

    def judge(
        self, exercise_id: str, trap: Trap, seed: int, *, home: Home | None = None, is_proof: bool = False
    ) -> TrapResult:
        """Return the result of a trap. `home` and `is_proof` as for `TrapJudge`; a proof has ample time.

        Raises what `TrapJudge` raises, and `ExaminerDiedError`.
        """
        request = ServiceRequest(
            body=TrapRequest(exercise=exercise_id, trap=trap, seed=seed, is_proof=is_proof, home=home),
            name=trap.name,
            seconds=TRAP_PROOF_ANSWER_SECONDS if is_proof else TRAP_ANSWER_SECONDS,
            topic=exercise_id,
            stamps=self._course.stamps(exercise_id),
        )
        return self._client.ask(request, TrapResult)
