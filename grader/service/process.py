"""An examiner process: one submission after another is judged in it; asked over a pair of pipes."""

import ctypes
import gc
import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, NoReturn, Self

import msgspec
from msgspec import Struct

from grader import errors
from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.errors import KitError
from grader.submission import Submission
from grader.verdict.verdict import Verdict

START_SECONDS = 120.0
"""How long starting, collecting checks and examining the reference may take on a slow machine, beside a submission's
own limits."""

COLLECT_EVERY = 20
"""Tasks between two collections of what refers to itself, a few milliseconds each."""

SIZE_BYTES = 8
PACKAGE = Path(__file__).resolve().parents[1]


class Read(Struct, frozen=True, tag=True):
    """One submission to take the fingerprint of."""

    submission: Submission


class Task(Struct, frozen=True, tag=True):
    """One submission to judge."""

    exercise: str
    submission: Submission
    file: str
    seed: int


class Answer(Struct, frozen=True):
    """The verdict, the fingerprint, or the name and text of the kit's own error."""

    verdict: Verdict | None = None
    fingerprint: str = ""
    error: str = ""
    text: str = ""


class ExaminerProcess:
    """Judges submissions in a process that holds torch, checks and references between them.

    Started when first used, started again where it died; not to be used by two threads at once.
    """

    def __init__(self, course: Course, *, strict: bool = False) -> None:
        self._course = course
        self._strict = strict
        self._process: subprocess.Popen[bytes] | None = None
        self._seconds: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process now, so that the first submission need not wait for torch."""
        if self._process is None:
            options = ["--strict"] if self._strict else []
            self._process = subprocess.Popen(
                [sys.executable, "-m", "grader.service.process", str(self._course.root), *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=PACKAGE.parent,
            )

    def judge(self, exercise_id: str, submission: Submission, file: str, seed: int) -> Verdict:
        """The verdict; `file` is what it calls the submission.

        Raises what `grader.verdict.judge.Judge` does, and `KitError` when the examiner died of this submission twice.
        """
        if exercise_id not in self._seconds:
            limits = load_exercise(self._course.description(exercise_id)).limits
            self._seconds[exercise_id] = limits.seconds.total
        verdict = self._answer(Task(exercise_id, submission, file, seed), self._seconds[exercise_id]).verdict
        assert verdict is not None
        return verdict

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        return self._answer(Read(submission), 0.0).fingerprint

    def close(self) -> None:
        """End the process, and with it its nursery and workers."""
        if self._process is not None:
            _hang_up(self._process)
            self._process = None

    def _answer(self, task: Task | Read, seconds: float) -> Answer:
        """The answer to a task that may take so many seconds."""
        answer = self._ask(task, seconds) or self._ask(task, seconds)
        if answer is None:
            raise KitError(f"the examiner's process has died twice of {task.submission.name}")
        if answer.error:
            raise _error(answer)
        return answer

    def _ask(self, task: Task | Read, seconds: float) -> Answer | None:
        """The answer, or None when the process died first; it is ended when it takes longer than it ever may."""
        self.start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        watch = threading.Timer(seconds + START_SECONDS, process.kill)
        watch.daemon = True
        watch.start()
        try:
            _write(process.stdin, msgspec.msgpack.encode(task))
            answer = _read(process.stdout)
        except BrokenPipeError:
            answer = b""
        except BaseException:  # an interrupt in the middle of a message: the next one could not be told from its rest
            process.kill()
            self.close()
            raise
        finally:
            watch.cancel()
        if not answer:
            self.close()
            return None
        return msgspec.msgpack.decode(answer, type=Answer)


def usable_cores() -> int:
    """How many cores this process may use: so many examiners work side by side."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _hang_up(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        try:
            if pipe is not None:
                pipe.close()
        except BrokenPipeError:
            pass
    process.wait()


def _error(answer: Answer) -> KitError:
    """The error as it was raised over there."""
    kind = getattr(errors, answer.error, KitError)
    return errors.SpecError(answer.text.split("\n")) if kind is errors.SpecError else kind(answer.text)


def _write(pipe: IO[bytes], body: bytes) -> None:
    pipe.write(len(body).to_bytes(SIZE_BYTES, "big") + body)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    """The next message; empty at the end."""
    size = pipe.read(SIZE_BYTES)
    body = pipe.read(int.from_bytes(size, "big")) if len(size) == SIZE_BYTES else b""
    return body if len(body) == int.from_bytes(size, "big") else b""


def _serve(course: Course, *, strict: bool) -> None:
    """Answer tasks from stdin on stdout until stdin ends."""
    from grader.verdict.judge import Judge, with_judge

    tasks = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer

    def loop(judge: Judge) -> None:
        for count in itertools.count(1):
            message = _read(tasks)
            if not message:
                return
            task = msgspec.msgpack.decode(message, type=Task | Read)
            _write(answers, msgspec.msgpack.encode(_answer(judge, task)))
            if isinstance(task, Task):
                judge.prepare(task.exercise)
            if count % COLLECT_EVERY == 0:
                _give_back_memory()

    with_judge(course, loop, strict=strict, for_many=True)


def _give_back_memory() -> None:
    """Collect what refers to itself, which waits while submissions are judged, and leave what is free to the system."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not every C library has it
        if trim is not None:
            trim(0)


def _answer(judge: Any, task: Task | Read) -> Answer:
    try:
        if isinstance(task, Read):
            return Answer(fingerprint=judge.fingerprint(task.submission))
        return Answer(judge(task.exercise, task.submission, task.file, task.seed))
    except errors.LostNurseryError:
        raise  # this process is of no more use: the asking side starts another
    except KitError as error:
        return Answer(error=type(error).__name__, text=str(error))


def _main() -> NoReturn:
    """`python -m grader.service.process ROOT [--strict]`."""
    status = 0
    try:
        _serve(Course(Path(sys.argv[1])), strict="--strict" in sys.argv)
    except (BrokenPipeError, errors.LostNurseryError):
        pass  # whoever asked is gone, or finds out by the end of the pipe
    except KeyboardInterrupt:
        status = 130
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _main()
