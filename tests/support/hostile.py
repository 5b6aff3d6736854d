"""Hostile submissions, and the processes and descriptors that they leave behind, for tests of the trust boundary."""

import os
import time
from pathlib import Path

from grader.spec.paths import Course
from tests.support.paths import ROOT

COURSE = Course(root=ROOT)

FORWARD = "def forward(self, x):\n"

PREAMBLE = "import atexit, ctypes, os, re, signal, sys, threading, time\nimport torch\n"
"""Imports for hostile lines, at the top of the submission."""


def starter(exercise_id: str = "exercise_03") -> str:
    return COURSE.editable_files(exercise_id)[0].read_text(encoding="utf-8")


def reference(exercise_id: str = "exercise_03") -> str:
    return COURSE.reference_text(exercise_id)


def at_import(lines: str, source: str = "") -> str:
    """Return the source with lines that run before it."""
    return PREAMBLE + lines + "\n" + (source or starter())


def in_forward(lines: str, source: str = "") -> str:
    """Return the source with lines at the start of exercise_03's forward."""
    indented = "".join(f"        {line}\n" for line in lines.split("\n"))
    before, forward, after = (source or starter()).partition(FORWARD)
    return PREAMBLE + before + forward + indented + after


def returning(expression: str) -> str:
    """Return the reference, which returns `expression` in place of its `output`."""
    last = "return context_vec"
    text = reference()
    assert text.count(last) == 1
    return PREAMBLE + text.replace(last, f"output = context_vec\n        return {expression}")


class Household:
    """A snapshot of this process's descendants and open descriptors."""

    def __init__(self) -> None:
        self.processes = relatives(os.getpid())
        self.descriptors = descriptors()


def descriptors() -> dict[str, str]:
    """Return this process's open descriptors and their targets."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = str(Path(f"/proc/self/fd/{name}").readlink())
        except FileNotFoundError:
            pass  # the descriptor that lists the folder
    return found


def relatives(root: int) -> set[int]:
    """Return the descendants of a process, and orphans with its command line, which are forks of it.

    A sibling under a parent with that command line, such as another lane of pytest, is no orphan.
    """
    parents = {process: parent for process in _all_processes() if (parent := parent_of(process)) is not None}
    family = {root}
    while grown := {process for process, parent in parents.items() if parent in family} - family:
        family |= grown
    line, above = command_line(root), set(ancestors(root))
    adopters = {process for process in above if command_line(process) != line}
    orphans = {process for process, parent in parents.items() if parent in adopters and command_line(process) == line}
    return (family | orphans) - {root} - above


def ancestors(process: int) -> list[int]:
    found = []
    while (parent := parent_of(process)) not in (None, 0):
        assert parent is not None
        found.append(parent)
        process = parent
    return found


def running_with(word: str) -> set[int]:
    """Return the processes with `word` in their command line."""
    return {process for process in _all_processes() if word.encode() in command_line(process)}


def command_line(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def parent_of(process: int) -> int | None:
    """Return the parent of a living process; None if it has ended."""
    try:
        state, parent = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
    except OSError:
        return None
    return None if state in "ZX" else int(parent)


def ended(processes: set[int], seconds: float = 30) -> bool:
    """Return whether all processes end within this many seconds. A zombie counts as ended."""
    deadline = time.monotonic() + seconds
    while (left := any(parent_of(each) is not None for each in processes)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not left


def _all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]
