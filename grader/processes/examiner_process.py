"""An examiner process as its owner holds it: asked over pipes, cancelled from any thread, restarted where it died."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Self

import msgspec

from grader import errors
from grader.errors import KitError
from grader.processes.examiner_server import Answer, FingerprintRequest, JudgeRequest, read_message, write_message
from grader.spec.loading import load_exercise
from grader.spec.paths import PACKAGE, Course
from grader.submission import Submission
from grader.verdict.verdict import Verdict

START_SECONDS = 120.0
"""How long starting, collecting checks and examining the reference may take on a slow machine, beside a submission's
own limits."""

END_SECONDS = 10.0
"""How long the process may take to end by itself once its pipes are closed."""

MOST_DEATHS = 2
"""After so many deaths of one submission no third process is tried."""


class CancelledError(KitError):
    """Nobody waits for the verdict any more."""


class ExaminerDiedError(KitError):
    """The examiner died of one submission twice; others can be judged."""


def usable_cores() -> int:
    """How many cores this process may use: so many examiners work side by side."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ExaminerProcess:
    """Judges submissions in a process that holds torch, checks and references between them.

    Started when first used, again where it died, and anew when an exercise's files have changed; not to be used by two
    threads at once, but for `cancel`.
    """

    def __init__(self, course: Course, *, strict: bool = False) -> None:
        self._course = course
        self._strict = strict
        self._process: subprocess.Popen[bytes] | None = None
        self._inherited: subprocess.Popen[bytes] | None = None
        self._stamps: dict[str, tuple[tuple[str, int, int], ...]] = {}
        self.is_cancelled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, if it is not there; it is deaf to Ctrl-C, which is for whoever asked."""
        if self._process is not None:
            return
        options = ["--strict"] if self._strict else []
        with _interrupts_blocked():
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "grader.processes.examiner_server", str(self._course.root), *options],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd=PACKAGE.parent,
                )
            except OSError as error:
                raise KitError(f"no examiner process can be started: {error.strerror}; end what else runs") from error
        if self.is_cancelled:
            self.cancel()

    def has_opened(self, exercise_id: str) -> bool:
        """Whether it has judged a submission to the exercise, so that the next one takes less."""
        return exercise_id in self._stamps

    def judge(self, exercise_id: str, submission: Submission, file: str, seed: int) -> Verdict:
        """The verdict; `file` is what it calls the submission.

        Raises what `grader.verdict.judge.Judge` does, and `ExaminerDiedError` or `CancelledError`.
        """
        stamps = self._course.stamps(exercise_id)
        if self._stamps.get(exercise_id, stamps) != stamps:
            self.close()
        self._stamps[exercise_id] = stamps
        limits = load_exercise(self._course.description(exercise_id)).limits
        verdict = self._answer(JudgeRequest(exercise_id, submission, file, seed), limits.seconds.total).verdict
        assert verdict is not None
        return verdict

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        return self._answer(FingerprintRequest(submission), 0.0).fingerprint

    def close(self) -> None:
        """End the process, and with it its nursery and workers; what it knew of the exercises goes with it."""
        process, self._process = self._process, None
        self._stamps = {}
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(BrokenPipeError):
                    if pipe is not None:
                        pipe.close()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def cancel(self) -> None:
        """End the process at once and for good, whatever it is at; from any thread."""
        self.is_cancelled = True
        process = self._process
        if process is not None:
            process.kill()

    def abandon(self) -> None:
        """In a forked child: the process is the parent's, so give up its pipes without a word to it."""
        process, self._process = self._process, None
        self._inherited = process  # not collected, for the same reason as by the pool
        if process is not None:
            null = os.open(os.devnull, os.O_RDWR)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None and not pipe.closed:
                    os.dup2(null, pipe.fileno(), inheritable=False)
            os.close(null)
            process.returncode = 0  # collected by the parent

    def _answer(self, request: JudgeRequest | FingerprintRequest, seconds: float) -> Answer:
        """The answer to a request that may take so many seconds."""
        for _ in range(MOST_DEATHS):
            answer = None if self.is_cancelled else self._ask(request, seconds)
            if self.is_cancelled and (answer is None or answer.error):
                raise CancelledError(f"{request.submission.name} is not waited for any more")
            if answer is not None:
                break
        else:
            raise ExaminerDiedError(f"the examiner's process has died twice of {request.submission.name}")
        if answer.error:
            raise _error(answer)
        return answer

    def _ask(self, request: JudgeRequest | FingerprintRequest, seconds: float) -> Answer | None:
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
            write_message(process.stdin, msgspec.msgpack.encode(request))
            answer = read_message(process.stdout)
        except BrokenPipeError:
            answer = b""
        except BaseException:  # an interrupt in the middle of a message: the next one could not be told from its rest
            process.kill()
            self.close()
            raise
        finally:
            watch.cancel()
        if not answer:
            stamps = self._stamps
            self.close()
            self._stamps = stamps
            return None
        return msgspec.msgpack.decode(answer, type=Answer)


def _error(answer: Answer) -> KitError:
    """The error as it was raised over there."""
    kind = getattr(errors, answer.error, KitError)
    return errors.SpecError(answer.text.split("\n")) if kind is errors.SpecError else kind(answer.text)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A process started meanwhile does not get SIGINT, now or later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
