"""A judge that stays open between the commands of one process, such as a warm process."""

from collections.abc import Callable
from contextlib import ExitStack

from grader.errors import KitError
from grader.spec.paths import Course, stamp_of
from grader.spec.seeds import secret_seed
from grader.submission import Submission
from grader.verdict.judge import Judge, open_judge
from grader.verdict.verdict import Verdict


class WarmJudge:
    """The judge of a process that answers several commands about one course, one after the other.

    At most one exercise is open, with its reference and its answers.
    """

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._judge: Judge | None = None
        self._course: Course | None = None
        self._state: tuple[object, ...] = ()
        self._verdict: Verdict | None = None
        self._next_seed: int | None = None
        """The seed of the next verdict, at which the reference's answers are known; None if there are none."""

    def draw_seed(self) -> int:
        """Return a secret seed that no verdict has had."""
        seed, self._next_seed = self._next_seed, None
        return secret_seed() if seed is None else seed

    def judge(self, course: Course, exercise_id: str, submission: Submission, name: str, seed: int) -> Verdict:
        """Return the verdict on a submission. Open the exercise anew if one of its files has changed."""
        if self._judge is None:
            self._judge = self._opened.enter_context(open_judge(course, first=exercise_id))
            self._course = course
        elif course != self._course:
            raise KitError("this process judges another course; run the command with --cold")
        state = (exercise_id, course.stamps(exercise_id), stamp_of(course.key(exercise_id)))
        if self._state and state != self._state:
            self._judge.forget()
        self._state = state
        self._verdict = None  # an error leaves the judge in doubt
        self._verdict = self._judge(exercise_id, submission, name, seed)
        return self._verdict

    def prepare(self, is_idle: Callable[[], bool]) -> None:
        """While idle, work ahead for the next verdict. Then clean up after the last worker and start the next one."""
        if self._judge is None or self._verdict is None:
            return
        exercise_id = self._verdict.exercise
        if self._next_seed is None:
            self._next_seed = secret_seed()
            self._judge.work_ahead(exercise_id, self._next_seed, is_idle)
        self._judge.prepare(exercise_id)

    def is_usable(self) -> bool:
        """Return whether the judge can answer the next command: its last verdict is sound, and no host was open."""
        if self._judge is None or self._course is None or self._verdict is None:
            return False
        return (
            all(self._verdict.isolation.values())
            and self._judge.is_alive()
            and (self._course.root / "exercises").is_dir()
        )


_warm: list[WarmJudge] = []


def keep_warm_judge() -> WarmJudge:
    """From now on, judge every file in one judge, which stays open when its command ends."""
    _warm[:] = [WarmJudge()]
    return _warm[0]


def warm_judge() -> WarmJudge | None:
    """Return the judge of this process that stays open; None if each file gets a judge of its own."""
    return _warm[0] if _warm else None
