"""Run the kit as its users do: in a copy of the course, with commands as processes that are timed from outside."""

import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from grader.processes.examiner_process import usable_cores
from tests.benchmarks.table import CannotRunError
from tests.support.paths import ROOT

SEED = 7
SECONDS_EACH, SECONDS_ALL = 10.0, 300.0
"""The time limit of a command: for each submission, and in addition."""

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
"""Each measured process runs one thread, because there are as many jobs as cores. Python writes bytecode, as it does by
default, because torch has bytecode since its installation.
"""


def machine() -> str:
    """Return the date, the machine, the versions, and the load of the machine."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    versions = f"Python {platform.python_version()}, torch {metadata.version('torch')}"
    today = datetime.now(tz=UTC).date()
    return f"{today}, {platform.system()} {platform.machine()}, {usable_cores()} cores, {versions}; load before: {load}"


def copy_course(folder: Path, exercises: list[str]) -> Path:
    """Return a copy of the course that may be changed, with these exercises and their keys."""
    for part in ("exercises", "solutions", "tests/hidden"):
        for each in exercises:
            if (ROOT / part / each).is_dir():
                shutil.copytree(ROOT / part / each, folder / part / each)
    if (ROOT / ".grader/proven").is_dir():
        shutil.copytree(ROOT / ".grader/proven", folder / ".grader/proven")
    return folder


def seconds(arguments: list[str], cwd: Path = ROOT, environment: dict[str, str] = ENVIRONMENT) -> float:
    """Return the wall-clock seconds of one run of the interpreter, whatever its exit code."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        timeout=SECONDS_ALL,
        check=False,
    )
    return time.perf_counter() - started


def batch_command(lines: Path, gradebook: Path, jobs: int, *, shares: bool = False) -> list[str]:
    """Return the command that grades the submissions into a gradebook, with all layers."""
    options = ["--gradebook", str(gradebook), "--jobs", str(jobs), "--seed", str(SEED)]
    return [sys.executable, "-m", "grader", "batch", str(lines), *options, *([] if shares else ["--no-share"])]


def batch_seconds(course: Path, lines: Path, gradebook: Path, jobs: int) -> float:
    """Return the seconds of a batch without sharing, into a new gradebook. Raise `CannotRunError` if it fails."""
    for path in gradebook.parent.glob(f"{gradebook.name}*"):
        path.unlink()
    count = lines.read_bytes().count(b"\n")
    started = time.perf_counter()
    done = subprocess.run(
        batch_command(lines, gradebook, jobs),
        cwd=course,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=SECONDS_ALL + SECONDS_EACH * count,
        check=False,
    )
    taken = time.perf_counter() - started
    if done.returncode != 0:
        raise CannotRunError(f"the batch ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return taken


def rows(gradebook: Path, statement: str) -> list[tuple]:
    """Return the rows that a statement selects from a gradebook."""
    connection = sqlite3.connect(f"file:{gradebook}?mode=ro", uri=True)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def open_layers(gradebook: Path) -> list[str]:
    """Return the layers that did not protect some worker."""
    told = [json.loads(text) for (text,) in rows(gradebook, "SELECT DISTINCT isolation FROM verdicts")]
    return sorted({layer for isolation in told for layer, holds in isolation.items() if not holds})
