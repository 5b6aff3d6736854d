"""Grade from Python: `grade` judges one submission, `agrade` does so in asyncio, `grade_many` any number of them."""

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, TypeVar, overload

from msgspec import Struct

from grader.checks.outcome import FailureKind, Finding
from grader.errors import KitError, OpenHostError, UsageError, WorkerKilledError
from grader.processes.examiner_process import CancelledError, ExaminerDiedError, usable_cores
from grader.processes.pool import ExaminerPool
from grader.spec.loading import load_exercise
from grader.spec.paths import TRAP, Course, find_course
from grader.spec.seeds import require_seed, secret_seed
from grader.submission import Submission, Unreadable, read_submission, read_text
from grader.trap.pooled_judge import PooledTrapJudge
from grader.trap.reading import refuse_trap, trap_of
from grader.trap.result import TrapResult
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Result, Verdict, not_judged

Source = str | Path
"""A submission: the text of a module, or the path of a `.py` or `.ipynb` file."""

Tag = TypeVar("Tag")

Errors = Literal["raise", "return"]

FILE_NAME = re.compile(r"\S{1,250}\.(py|ipynb)")
"""A text that looks like a path instead of a module's source."""

AHEAD = 4
"""Submissions read ahead for each job, so that a submission that hangs does not stop the others."""

POLL_SECONDS = 0.02
"""How often a submission that waits for a core checks whether it was cancelled."""

CORES = usable_cores()

_pool = ExaminerPool(CORES)
_trap_pool = ExaminerPool(CORES)
_slots = threading.BoundedSemaphore(CORES)
_threads: ThreadPoolExecutor | None = None


def _renew() -> None:
    """Free all slots and forget the threads, because a forked child has none of its parent's threads."""
    global _slots, _threads  # noqa: PLW0603 - one for the process
    _slots = threading.BoundedSemaphore(CORES)
    _threads = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def grade(
    exercise: str,
    source: Source,
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
    timeout: float | None = None,
) -> Verdict:
    """Return the verdict on one submission. No submission can make this function raise an exception.

    - `exercise` is an id, such as `"exercise_03"`.
    - `source` is the text of a module, or the `Path` of a `.py` or `.ipynb` file.
    - `course` is the folder that contains `exercises/`. The default is the course that contains the current folder,
      or else the one from which this package was installed.
    - `seed`, from 0 to 2**31 - 1, determines the random inputs. The default is a fresh, secret seed.
    - `strict` refuses to judge on a machine where a submission could reach files or the network. Submissions generated
      by a model do try. `python -m grader doctor` shows which protections work.
    - `timeout` is the most seconds to wait. Without it, the exercise's own limits end every submission. Time spent
      waiting for a free core does not count towards these limits.

    A verdict has one of four outcomes. `fixed`: every counted defect is fixed and nothing else is broken. `not_fixed`:
    not yet. `not_gradable`: no check could run, and `reason` says why; the score is 0. `not_judged`: the kit could not
    judge, because the timeout passed, the submission's examiner died twice, or its worker was killed twice from
    outside; `score` is None, and no submission is to blame.

    In the verdict, `score` and `max_score` are points and `seconds` is wall-clock time. `defects` has an entry for each
    defect of the exercise, and `checks` one for each check; its status is `not_run` if it did not run. Findings name
    the axes of tensors as the exercise's README does. `to_dict` turns a verdict into plain data.

    An examiner process judges. It keeps torch, checks and references in memory until the interpreter exits, so only the
    first call takes the time of importing torch. Any number of threads can call; as many submissions are judged at once
    as there are cores. A forked child starts its own examiners. A timeout ends the examiner, and the next call starts
    another one.

    Raise `UsageError` for an unknown exercise, course, seed, timeout or file and for a path given as text, `TypeError`
    for a source that is neither text nor a path, `SpecError` for a wrong description, `BrokenExerciseError` if the
    reference fails its own checks, `OpenHostError` if `strict` refuses, and other `KitError`s if the kit cannot judge.
    """
    return _Call(_terms(course, seed, timeout, strict=strict), exercise, source).verdict()


async def agrade(
    exercise: str,
    source: Source,
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
    timeout: float | None = None,  # noqa: ASYNC109 - its end is a verdict, not an exception
) -> Verdict:
    """Return the verdict on one submission, without blocking the event loop. Arguments and errors are those of `grade`.

    Any number of tasks can call; as many submissions are judged at once as there are cores. A task that is cancelled
    ends its submission's processes before it raises `asyncio.CancelledError`.
    """
    import asyncio  # most callers need none of it

    call = _Call(_terms(course, seed, timeout, strict=strict), exercise, source)
    judged = _shared_threads().submit(call.verdict)
    try:
        return await asyncio.wrap_future(judged)
    except asyncio.CancelledError:
        call.cancel()
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        judged.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(ended.set))
        await ended.wait()
        raise


@overload
def grade_many(
    submissions: Iterable[tuple[str, Source]],
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
    jobs: int | None = None,
    ordered: bool = True,
    errors: Errors = "raise",
    timeout: float | None = None,
) -> Iterator[Verdict]: ...


@overload
def grade_many(
    submissions: Iterable[tuple[str, Source, Tag]],
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
    jobs: int | None = None,
    ordered: bool = True,
    errors: Errors = "raise",
    timeout: float | None = None,
) -> Iterator[tuple[Tag, Verdict]]: ...


def grade_many(
    submissions: Iterable[tuple[Any, ...]],
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
    jobs: int | None = None,
    ordered: bool = True,
    errors: Errors = "raise",
    timeout: float | None = None,
) -> Iterator[Any]:
    """Yield a verdict for each `(exercise, source)`, and `(tag, verdict)` for each `(exercise, source, tag)`.

    A tag is any object. Other arguments and errors are those of `grade`; the timeout applies to each
    submission separately.

    - `jobs` is the number of examiners, by default one for each core.
    - `ordered=False` yields each verdict as soon as it is known, so that a slow submission delays no other verdict. Use
      tags to recognize the submissions.
    - `errors="return"` turns an error that concerns one exercise or one source (an unknown exercise, a missing file, a
      source of a wrong type, a wrong description, a broken reference) into a verdict `not_judged` for each submission
      concerned.

    `submissions` can be endless: at most four for each job are read ahead, and no verdict is kept. All submissions get
    the same seed.

    If reading `submissions` raises an exception, it is raised after the verdicts on all submissions that were read.
    With `errors="raise"`, an error of one exercise or source is raised when its turn comes, and ends the iteration.
    Close the iterator to end it early; this cancels the submissions that are being judged.
    """
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise UsageError(f"jobs is {jobs!r}; use a whole number from 1")
    if errors not in ("raise", "return"):
        raise UsageError(f'errors is {errors!r}; use "raise" or "return"')
    calls = _Calls(_terms(course, seed, timeout, strict=strict), returns_errors=errors == "return")
    return _verdicts(calls, iter(submissions), jobs or CORES, ordered=ordered)


def grade_trap(
    exercise: str,
    source: Source,
    *,
    course: str | Path | None = None,
    seed: int | None = None,
    strict: bool = True,
) -> TrapResult:
    """Return the result of a trap: tests that a student wrote for an exercise. Arguments and errors are `grade`'s.

    `source` is the text of the tests, or the `Path` of their file. `tests` has an entry for each test and `defects` one
    for each defect; `score` and `max_score` are points. If the tests cannot be read, `problem` says why, and the score
    is 0.
    """
    folder, number = open_course(course), _seed(seed)
    folder.require(exercise)
    name = TRAP if isinstance(source, str) else str(source)
    read = _read(source, TRAP)
    refused = refuse_trap(load_exercise(folder.description(exercise)), read, name, number)
    if refused is not None:
        return refused
    with _slots:
        return PooledTrapJudge(_trap_pool, folder, strict=strict).judge(exercise, trap_of(read, name), number)


class _Terms(Struct, frozen=True, kw_only=True):
    """The conditions of a call of the interface. `timeout` is in seconds."""

    course: Course
    seed: int
    strict: bool
    timeout: float | None


def _terms(course: str | Path | None, seed: int | None, timeout: float | None, *, strict: bool) -> _Terms:
    """Return the conditions with their defaults; raise `UsageError` for a wrong one."""
    return _Terms(course=open_course(course), seed=_seed(seed), strict=strict, timeout=_timeout(timeout))


class _Call:
    """One submission on its way to a verdict.

    It ends at its timeout, which counts from when this object was made, or when another thread cancels it.
    """

    def __init__(self, terms: _Terms, exercise_id: str, source: Source) -> None:
        self._terms = terms
        self._exercise_id = exercise_id
        self._source = source
        self._judge = PooledJudge(_pool, terms.course, strict=terms.strict)
        self._asked = time.monotonic()
        self._is_late = False
        self._is_cancelled = False

    def verdict(self, *, in_turn: bool = True) -> Verdict:
        """Return the verdict. With `in_turn`, wait first until one of the cores is free.

        Raise `CancelledError` if another thread cancelled the call.
        """
        course, exercise_id, source = self._terms.course, self._exercise_id, self._source
        course.require(exercise_id)
        name = course.module_name(exercise_id) if isinstance(source, str) else str(source)
        read = _read(source, name)
        try:
            with self._clock(), self._core(name) if in_turn else nullcontext():
                return self._judge.judge(exercise_id, read, name, self._terms.seed)
        except (ExaminerDiedError, WorkerKilledError) as error:
            reason = str(error)
        except CancelledError:
            if self._is_cancelled or not self._is_late:
                raise
            reason = f"there was no verdict after {self._terms.timeout:g} s; allow more time"
        exercise = load_exercise(course.description(exercise_id))
        return not_judged(exercise, name, self._terms.seed, _not_judged_finding(reason))

    def cancel(self) -> None:
        """Cancel the judgement. Callable from any thread."""
        self._is_cancelled = True
        self._judge.cancel()

    @contextmanager
    def _clock(self) -> Iterator[None]:
        """End the judgement if the block has not ended at the timeout."""
        if self._terms.timeout is None:
            yield
            return
        timer = threading.Timer(self._asked + self._terms.timeout - time.monotonic(), self._end_late)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end_late(self) -> None:
        self._is_late = True
        self._judge.cancel()

    @contextmanager
    def _core(self, name: str) -> Iterator[None]:
        """Occupy a core in the block, once one is free. Raise `CancelledError` if the call ends before."""
        slots = _slots
        while not slots.acquire(timeout=POLL_SECONDS):
            if self._is_cancelled or self._is_late:
                raise CancelledError(f"{name} was cancelled")
        try:
            yield
        finally:
            slots.release()


class _Calls:
    """Judges the submissions of one `grade_many`, from any number of threads, until it is cancelled."""

    def __init__(self, terms: _Terms, *, returns_errors: bool) -> None:
        self._terms = terms
        self._returns_errors = returns_errors
        self._lock = threading.Lock()
        self._running: set[_Call] = set()
        self._is_cancelled = False

    def judge(self, exercise_id: str, source: Source, *tag: Any) -> Any:
        """Return the verdict on a submission, with its tag if it has one."""
        call = _Call(self._terms, exercise_id, source)
        with self._lock:
            self._running.add(call)
            if self._is_cancelled:
                call.cancel()
        try:
            verdict = call.verdict(in_turn=False)
        except (OpenHostError, CancelledError):
            raise
        except (KitError, TypeError) as error:
            if not self._returns_errors:
                raise
            verdict = _unusable(exercise_id, source, self._terms.seed, str(error))
        finally:
            with self._lock:
                self._running.discard(call)
        return (*tag, verdict) if tag else verdict

    def cancel(self) -> None:
        """Cancel the submissions that are being judged, and refuse others."""
        with self._lock:
            self._is_cancelled = True
            running = list(self._running)
        for call in running:
            call.cancel()


def _unusable(exercise_id: str, source: Source, seed: int, reason: str) -> Verdict:
    """Return the verdict on a submission whose exercise or source cannot be used."""
    finding = _not_judged_finding(reason)
    return Verdict(
        exercise=str(exercise_id),
        file=str(source) if isinstance(source, Path) else "",
        outcome=Result.NOT_JUDGED,
        reason=str(finding),
        score=None,
        max_score=0.0,
        seed=seed,
        defects=[],
        regressions=[],
        checks=[],
        isolation={},
        seconds=0.0,
        unloadable=finding,
    )


def _verdicts(calls: _Calls, submissions: Iterator[tuple[Any, ...]], jobs: int, *, ordered: bool) -> Iterator[Any]:
    """Yield the verdicts, in the order of the submissions or as they come; `jobs` threads judge ahead."""
    pending: dict[Future[Any], None] = {}
    finished: SimpleQueue[Future[Any]] = SimpleQueue()
    source_error: Exception | None = None

    def take() -> Any:
        future = next(iter(pending)) if ordered else finished.get()
        del pending[future]
        return future.result()

    with ThreadPoolExecutor(jobs, thread_name_prefix="grader") as threads:
        try:
            while True:
                try:
                    submission = _parts(next(submissions))
                except StopIteration:
                    break
                except Exception as error:  # noqa: BLE001 - raised below, after the verdicts
                    source_error = error
                    break
                future = threads.submit(calls.judge, *submission)
                pending[future] = None
                if not ordered:
                    future.add_done_callback(finished.put)
                while len(pending) >= AHEAD * jobs or not finished.empty():
                    yield take()
            while pending:
                yield take()
            if source_error is not None:
                raise source_error
        finally:
            for each in pending:
                each.cancel()
            calls.cancel()


def _parts(submission: Any) -> tuple[Any, ...]:
    """Return a submission's exercise, source and, if there is one, tag."""
    if not isinstance(submission, tuple | list) or len(submission) not in (2, 3):
        raise TypeError(f"a submission is (exercise, source) or (exercise, source, tag), not {submission!r:.100}")
    return tuple(submission)


def _shared_threads() -> ThreadPoolExecutor:
    """Return the threads in which `agrade` waits for examiners."""
    global _threads  # noqa: PLW0603 - one for the process
    if _threads is None:
        _threads = ThreadPoolExecutor(CORES, thread_name_prefix="agrade")
    return _threads


def _not_judged_finding(reason: str) -> Finding:
    return Finding(kind=FailureKind.NOT_JUDGED, message=f"not judged: {reason}")


def _read(source: Source, name: str) -> Submission | Unreadable:
    """Read a submission. `name` is the name of a text in findings."""
    if isinstance(source, Path):
        if not source.is_file():
            raise UsageError(f"there is no file {source}; name the .py or .ipynb file to grade")
        return read_submission(source, source.name)
    if not isinstance(source, str):
        raise TypeError(f"a submission is text or a pathlib.Path, not {type(source).__name__}")
    if FILE_NAME.fullmatch(source):
        raise UsageError(f"the source is a file's name, not the text of a module; pass pathlib.Path({source!r})")
    return read_text(source, name)


def open_course(folder: str | Path | None) -> Course:
    """Return the course in a folder; without a folder, the course that contains the current folder.

    Raise `UsageError` if there is none.
    """
    if folder is None:
        return find_course(Path.cwd())
    if not isinstance(folder, str | os.PathLike):
        raise UsageError(f"course is {folder!r:.100}; name the folder that contains exercises/")
    if not (Path(folder) / "exercises").is_dir():
        raise UsageError(f"there is no exercises/ in {folder}; name the folder that contains it")
    return Course(root=Path(folder).absolute())


def _seed(seed: int | None) -> int:
    return secret_seed() if seed is None else require_seed(seed)


def _timeout(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    if not isinstance(timeout, int | float) or not 0 < timeout <= threading.TIMEOUT_MAX:
        raise UsageError(f"timeout is {timeout!r}; use a finite number of seconds above 0")
    return float(timeout)
