"""The kit from Python: `grade` judges one submission, `grade_many` any number of them; see the package's docstring."""

import os
import re
import secrets
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from grader.checks.outcome import Finding
from grader.errors import UsageError, WorkerKilledError
from grader.processes.examiner_process import ExaminerDiedError, usable_cores
from grader.processes.pool import ExaminerPool
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, find_course
from grader.submission import Submission, Unreadable, read_submission, read_text
from grader.verdict.judge import MAX_SEED
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Verdict, not_gradable

Source = str | Path
"""What is judged: a module's text, or the path of a `.py` or `.ipynb` file."""

FILE_NAME = re.compile(r"[^\n]*\.(py|ipynb)")
"""What is never a module's text, and often a path that was meant as one."""

WINDOW = 4
"""Submissions taken ahead for each job, so that one that hangs does not make the others wait for its turn."""

CORES = usable_cores()

_pool = ExaminerPool(CORES)
_turns = threading.BoundedSemaphore(CORES)


def _renew_turns() -> None:
    """In a forked child, nobody else has a turn."""
    global _turns  # noqa: PLW0603 - one for the process, as its cores are
    _turns = threading.BoundedSemaphore(CORES)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turns)


def grade(
    exercise: str,
    source: Source,
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
) -> Verdict:
    """The verdict on one submission, never an exception for what the submission does.

    `exercise` is an id (`"exercise_03"`), `source` a module's text or the `Path` of a `.py` or `.ipynb` file, `course`
    the folder that holds `exercises/` (where None is given: the one around the current folder, or else the one this
    package was installed from). `seed`, from 0 to 2**31 - 1, is that of the inputs; fresh and secret where none is
    given.

    In the verdict `score` and `max_score` are points and `seconds` wall-clock seconds; `defects` has one entry for each
    defect of the exercise, `checks` one for each check that ran: none where the outcome is `not_gradable`, and then
    `reason` says why. The shapes of tensors that a check's finding speaks of are those of the exercise's README. A
    submission of which the examiner itself has died twice, or whose worker was killed twice by the machine or somebody
    on it, is `not_gradable` too, and its reason begins with "not judged".

    The examiner that judges is a process of its own, which holds torch, checks and references until the interpreter
    exits: the first call takes as long as importing torch does, later ones a fraction of that. Any number of threads
    may call, as many are served at once as there are cores; a forked child starts examiners of its own.

    Raises `UsageError` for an unknown exercise, course or seed, `SpecError` for a wrong description,
    `BrokenExerciseError` when the reference fails its own checks, and `KitError` where the kit cannot judge. So it
    does, unless `strict` is False, on a machine where a submission could reach files or the network: made by machines,
    submissions do. `python -m grader doctor` shows what a machine offers.
    """
    request = _Request(_course(course), _seed(seed), strict=strict)
    with _turns:
        return request.judge(exercise, source)


def grade_many(
    submissions: Iterable[tuple[str, Source]],
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
    jobs: int | None = None,
) -> Iterator[Verdict]:
    """One verdict for each `(exercise, source)`, in their order; arguments and errors are those of `grade`.

    `submissions` may be without end: at most four for each of the `jobs` examiners (where None is given: one for each
    core) are taken ahead, and no verdict is kept. All are judged by inputs of one seed. An error that lies with the
    course, or that `submissions` raises, ends the iteration; close the iterator to end it early. Whatever is under way
    then is cancelled.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs is {jobs}; name one or more")
    request = _Request(_course(course), _seed(seed), strict=strict)
    return _in_order(request, iter(submissions), jobs or CORES)


class _Request:
    """What a caller wants judged: submissions to one course with inputs of one seed; for any number of threads."""

    def __init__(self, course: Course, seed: int, *, strict: bool) -> None:
        self._course = course
        self._seed = seed
        self._judge = PooledJudge(_pool, course, strict=strict)

    def judge(self, exercise_id: str, source: Source) -> Verdict:
        self._course.require(exercise_id)
        name = self._course.module_name(exercise_id) if isinstance(source, str) else str(source)
        try:
            return self._judge.judge(exercise_id, _read(source, name), name, self._seed)
        except (ExaminerDiedError, WorkerKilledError) as error:
            exercise = load_exercise(self._course.description(exercise_id))
            return not_gradable(exercise, name, self._seed, Finding("not-judged", f"not judged: {error}"))

    def cancel(self) -> None:
        """End what is under way."""
        self._judge.cancel()


def _in_order(request: _Request, submissions: Iterator[tuple[str, Source]], jobs: int) -> Iterator[Verdict]:
    """The verdicts in the order of their submissions, some of which are judged ahead."""
    under_way: deque[Future[Verdict]] = deque()
    with ThreadPoolExecutor(jobs, thread_name_prefix="grader") as threads:
        try:
            for exercise_id, source in submissions:
                under_way.append(threads.submit(request.judge, exercise_id, source))
                if len(under_way) >= WINDOW * jobs:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for each in under_way:
                each.cancel()
            request.cancel()


def _read(source: Source, name: str) -> Submission | Unreadable:
    """The submission; `name` is how findings call one that came as text."""
    if isinstance(source, Path):
        return read_submission(source, source.name)
    if not isinstance(source, str):
        raise TypeError(f"a submission is text or a pathlib.Path, not {type(source).__name__}")
    if FILE_NAME.fullmatch(source):
        return Unreadable(f"the text is a file's name, not its source; pass pathlib.Path({source!r})")
    return read_text(source, name)


def _course(folder: str | Path | None) -> Course:
    if folder is None:
        return find_course(Path.cwd())
    if not (Path(folder) / "exercises").is_dir():
        raise UsageError(f"there is no exercises/ in {folder}; name a course's folder")
    return Course(Path(folder).absolute())


def _seed(seed: int | None) -> int:
    if seed is None:
        return secrets.randbelow(MAX_SEED)
    if not 0 <= seed < MAX_SEED:
        raise UsageError(f"seed is {seed}; name one from 0 to {MAX_SEED - 1}")
    return seed
