"""Grade from Python: `grade` judges one submission, `grade_many` any number of them."""

import operator
import os
import re
import secrets
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from grader.checks.outcome import FailureKind, Finding
from grader.errors import UsageError, WorkerKilledError
from grader.processes.examiner_process import ExaminerDiedError, usable_cores
from grader.processes.pool import ExaminerPool
from grader.spec.loading import load_exercise
from grader.spec.paths import Course, find_course
from grader.submission import Submission, Unreadable, read_submission, read_text
from grader.verdict.judge import MAX_SEED
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Verdict, not_judged

Source = str | Path
"""A submission: the text of a module, or the path of a `.py` or `.ipynb` file."""

FILE_NAME = re.compile(r"[^\n]*\.(py|ipynb)")
"""Text that is no module: the caller probably meant a path."""

AHEAD = 4
"""Submissions read ahead for each job, so that a submission that hangs does not stop the others."""

CORES = usable_cores()

_pool = ExaminerPool(CORES)
_slots = threading.BoundedSemaphore(CORES)


def _renew_slots() -> None:
    """Free all slots: in a forked child, no thread of the parent is left to do so."""
    global _slots  # noqa: PLW0603 - one for the process
    _slots = threading.BoundedSemaphore(CORES)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_slots)


def grade(
    exercise: str,
    source: Source,
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
) -> Verdict:
    """Return the verdict on one submission. Nothing that the submission does raises an exception.

    - `exercise` is an id, such as `"exercise_03"`.
    - `source` is the text of a module, or the `Path` of a `.py` or `.ipynb` file.
    - `course` is the folder that contains `exercises/`. The default is the one around the current folder, or else the
      one from which this package was installed.
    - `seed`, from 0 to 2**31 - 1, determines the random inputs. The default is a fresh, secret seed.
    - `strict` refuses to judge on a machine where a submission could reach files or the network. Submissions generated
      by a model do try. `python -m grader doctor` shows which protections work.

    In the verdict, `score` and `max_score` are points and `seconds` is wall-clock time. `defects` has an entry for each
    defect of the exercise and `checks` one for each check that ran. If no check could run, the outcome is
    `not_gradable` and `reason` is the reason. If a submission's examiner died twice, or its worker was killed twice
    from outside, the outcome is `not_judged` and `score` is None. Findings name the axes of tensors as the exercise's
    README does.

    An examiner process judges. It keeps torch, checks and references in memory until the interpreter exits, so only the
    first call takes the time of importing torch. Any number of threads can call; as many submissions are judged at once
    as there are cores. A forked child starts its own examiners.

    Raise `UsageError` for an unknown exercise, course, seed or file and for a path given as text, `SpecError` for a
    wrong description, `BrokenExerciseError` if the reference fails its own checks, `OpenHostError` if `strict` refuses,
    and other `KitError`s if the kit cannot judge.
    """
    request = _Request(_course(course), _seed(seed), strict=strict)
    with _slots:
        return request.judge(exercise, source)


def grade_many(
    submissions: Iterable[tuple[str, Source]],
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
    jobs: int | None = None,
) -> Iterator[Verdict]:
    """Yield a verdict for each `(exercise, source)`, in order. Arguments and errors are those of `grade`.

    `jobs` is the number of examiners, by default one for each core. `submissions` can be endless: at most four for each
    job are read ahead, and no verdict is kept. All submissions get the same seed.

    An error in the course, or one that `submissions` raises, ends the iteration. Close the iterator to end it early;
    this cancels the submissions that are being judged.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs is {jobs}; use 1 or more")
    request = _Request(_course(course), _seed(seed), strict=strict)
    return _in_order(request, iter(submissions), jobs or CORES)


class _Request:
    """Judge submissions to one course with one seed, from any number of threads."""

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
            finding = Finding(kind=FailureKind.NOT_JUDGED, message=f"not judged: {error}")
            return not_judged(exercise, name, self._seed, finding)

    def cancel(self) -> None:
        """Cancel the submissions that are being judged."""
        self._judge.cancel()


def _in_order(request: _Request, submissions: Iterator[tuple[str, Source]], jobs: int) -> Iterator[Verdict]:
    """Yield the verdicts in the order of the submissions, which are judged ahead in `jobs` threads."""
    pending: deque[Future[Verdict]] = deque()
    with ThreadPoolExecutor(jobs, thread_name_prefix="grader") as threads:
        try:
            for exercise_id, source in submissions:
                pending.append(threads.submit(request.judge, exercise_id, source))
                if len(pending) >= AHEAD * jobs:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for each in pending:
                each.cancel()
            request.cancel()


def _read(source: Source, name: str) -> Submission | Unreadable:
    """Read a submission. `name` is its name in findings if it came as text."""
    if isinstance(source, Path):
        if not source.is_file():
            raise UsageError(f"there is no file {source}; name the .py or .ipynb file to grade")
        return read_submission(source, source.name)
    if not isinstance(source, str):
        raise TypeError(f"a submission is text or a pathlib.Path, not {type(source).__name__}")
    if FILE_NAME.fullmatch(source):
        raise UsageError(f"the source is a file's name, not the text of a module; pass pathlib.Path({source!r})")
    return read_text(source, name)


def _course(folder: str | Path | None) -> Course:
    if folder is None:
        return find_course(Path.cwd())
    if not (Path(folder) / "exercises").is_dir():
        raise UsageError(f"there is no exercises/ in {folder}; name the folder that contains it")
    return Course(root=Path(folder).absolute())


def _seed(seed: int | None) -> int:
    if seed is None:
        return secrets.randbelow(MAX_SEED)
    try:
        seed = operator.index(seed)  # also numpy's whole numbers
    except TypeError:
        raise UsageError(f"seed is {seed!r}; use a whole number from 0 to {MAX_SEED - 1}") from None
    if not 0 <= seed < MAX_SEED:
        raise UsageError(f"seed is {seed}; use one from 0 to {MAX_SEED - 1}")
    return seed
