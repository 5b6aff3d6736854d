"""Run the kit's commands: in a fork of the tests, which has imported torch, or in an interpreter of its own."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import IO, NoReturn

from tests.support.forgetting import forget_descriptions
from tests.support.paths import ROOT

Done = subprocess.CompletedProcess[str]

SECONDS = 120
COLUMNS = 100


def run_program(*arguments: object, cwd: Path = ROOT, timeout: float = SECONDS, columns: int = COLUMNS) -> Done:
    """Run `python -m grader ...` in a new interpreter, as a user does."""
    command = [sys.executable, "-m", "grader", *map(str, arguments)]
    environment = os.environ | {"COLUMNS": str(columns)}
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=timeout, env=environment, check=False
    )


def run_fork(*arguments: object, cwd: Path = ROOT, timeout: float = SECONDS, columns: int = COLUMNS) -> Done:
    """Run a command in a fork of this process, which has imported torch and must have a single thread.

    Do not use it for functions that pytest replaces, such as `breakpoint()`, or to find processes by command line.
    """
    texts = [str(argument) for argument in arguments]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = os.fork()
        if process == 0:
            _become_program(texts, cwd, columns, (output, errors))
        _end_within(process, timeout)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        return subprocess.CompletedProcess(texts, code, _text(output), _text(errors))


def _become_program(arguments: list[str], cwd: Path, columns: int, files: tuple[IO[bytes], IO[bytes]]) -> NoReturn:
    try:
        forget_descriptions()
        os.chdir(cwd)
        os.environ["COLUMNS"] = str(columns)
        for number, file in enumerate(files, 1):
            os.dup2(file.fileno(), number)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
        )
        sys.argv = ["grader", *arguments]
        from grader.__main__ import run

        run()
    except BaseException:  # noqa: BLE001 - pytest must not continue in the fork
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(70)


def _end_within(process: int, seconds: float) -> None:
    """Wait for the process, and end it after the given seconds."""
    waiting = select.poll()
    descriptor = os.pidfd_open(process)
    waiting.register(descriptor, select.POLLIN)
    is_over = waiting.poll(1000 * seconds)
    os.close(descriptor)
    if not is_over:
        os.kill(process, signal.SIGKILL)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
