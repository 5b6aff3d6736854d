"""Judge files in this process: choose the judge, and answer for files that cannot be examined."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from grader.checks.tape import FailedCheck
from grader.processes.worker_source import CAN_FORK
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.seeds import secret_seed
from grader.submission.choice import Choice
from grader.verdict.judge import Judge, open_judge
from grader.verdict.verdict import Verdict, can_be_examined, refuse
from grader.verdict.warm_judge import warm_judge


def judge_file(
    course: Course,
    exercise_id: str,
    choice: Choice,
    *,
    seed: int | None = None,
    spawn: bool = not CAN_FORK,
) -> Verdict:
    """Return the verdict on a file; see `judging_file`."""
    with judging_file(course, exercise_id, choice, seed=seed, spawn=spawn) as verdict:
        return verdict


@contextmanager
def judging_file(
    course: Course,
    exercise_id: str,
    choice: Choice,
    *,
    seed: int | None = None,
    spawn: bool = not CAN_FORK,
    strict: bool = False,
) -> Iterator[Verdict]:
    """Yield the verdict on a file. The processes that judged it end after the block, which takes a while.

    `seed` seeds the inputs; None draws a fresh, secret seed. `strict` raises `OpenHostError` if a submission could
    reach files or the network. Raises `SpecError` for a wrong description and `BrokenExerciseError` if the reference
    fails.
    """
    if not can_be_examined(choice.read):
        yield _refused(course, exercise_id, choice, _seed(seed))
    elif (warm := warm_judge()) and not (spawn or strict):
        seed = warm.draw_seed() if seed is None else seed
        yield warm.judge(course, exercise_id, choice.read, course.shown(choice.path), seed)
    else:
        with open_judge(course, spawn=spawn, strict=strict, first=exercise_id) as judge:
            yield judge(exercise_id, choice.read, course.shown(choice.path), _seed(seed))


def judge_choice(judge: Judge, course: Course, exercise_id: str, choice: Choice, *, seed: int | None) -> Verdict:
    """Return the verdict of an open judge on a file, also if the file cannot be examined."""
    seed = _seed(seed)
    if can_be_examined(choice.read):
        return judge(exercise_id, choice.read, course.shown(choice.path), seed)
    return _refused(course, exercise_id, choice, seed)


def judge_and_record(
    course: Course,
    exercise_id: str,
    choice: Choice,
    checks_of: Callable[[Verdict], Iterable[str]],
) -> tuple[Verdict, FailedCheck | None]:
    """Judge a file; then record the requests of the first of the checks `checks_of(verdict)` that fails again.

    Raises what `judging_file` raises.
    """
    if not can_be_examined(choice.read):
        return _refused(course, exercise_id, choice, secret_seed()), None
    with open_judge(course, first=exercise_id) as judge:
        verdict = judge(exercise_id, choice.read, course.shown(choice.path), secret_seed())
        for check in checks_of(verdict):
            failed = judge.record(exercise_id, choice.read, verdict.seed, check)
            if failed is not None:
                return verdict, failed
    return verdict, None


def _refused(course: Course, exercise_id: str, choice: Choice, seed: int) -> Verdict:
    """Return the verdict on a file that cannot be examined."""
    exercise = load_exercise(course.description(exercise_id))
    verdict = refuse(exercise, choice.read, course.shown(choice.path), seed)
    assert verdict is not None
    return verdict


def _seed(seed: int | None) -> int:
    """Return the seed, or a fresh, secret one."""
    return secret_seed() if seed is None else seed
