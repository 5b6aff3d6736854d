"""Check the kit's requirements on this machine. Each protection is verified by trying to break it."""

import os
import platform
import shutil
import sys
import time
from importlib import metadata
from importlib.util import MAGIC_NUMBER, cache_from_source, find_spec
from pathlib import Path

from packaging.requirements import Requirement

from grader.errors import KitError
from grader.processes.memory import memory_of
from grader.processes.warm_server import warm_processes
from grader.processes.worker_source import open_worker_source
from grader.processes.workers import DiedError, protections
from grader.report.host_states import HostState
from grader.sandbox.protocol import Isolation, Load, Raised, Source
from grader.sandbox.wire import MalformedError
from grader.spec.exercise import Limits
from grader.spec.paths import Course

PRINTS_A_TENSOR = "import torch; print(torch.tensor([0.5]), torch.tensor([0.5]).numpy())"
PRINTED = b"tensor([0.5000]) [0.5]"
"""A statement that imports parts of torch and numpy after Landlock is in force, and its output."""

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 200_000_000
"""Free space for caches, kept copies and a gradebook."""

TRIED_TORCH = ("2.5", "2.13", "2.15")
"""The series of torch with which the kit has judged all right fixes. To try another one:
tests/cli/test_lowest_versions.py."""

LATE_LIBRARIES = ("torch", "sympy", "numpy")
HEADER_BYTES = 16
"""The length of the header of a .pyc file: magic number, flags, time of the source or half of a hash, size."""

REMEDIES = {
    "process": "run on Linux, where workers are forked from a process that holds no secret",
    "filesystem": "enable Landlock (Linux 5.13 or newer), and run `pip install py-landlock`",
    "network": "`apt install libseccomp2` and `pip install pyseccomp`, or allow user namespaces",
    "syscalls": "`apt install libseccomp2` and `pip install pyseccomp`",
    "memory": "run graders and submissions under the same unprivileged user with `kernel.yama.ptrace_scope` at 1",
}
"""Remedies for protections that do not work."""

LAYERS = {
    "process": (),
    "filesystem": ("landlock", "namespaces"),
    "network": ("seccomp", "namespaces"),
    "syscalls": ("seccomp",),
    "memory": ("landlock", "seccomp", "namespaces"),
}
"""The kernel's layers that provide each protection."""


def examine_machine(course: Course) -> list[HostState]:
    """Return the state of each requirement of the kit on this machine, the protections last.

    Start a worker and try to break out of it, so that a protection is reported only if it works.
    """
    states = [_python(), *_packages(), _bytecode(), _disk(course), _exercises(course), _warm_processes()]
    try:
        isolation, problem = _try_worker(course)
    except KitError as error:
        remedy = "grade with --spawn, which starts a new worker process instead of forking one"
        return [*states, HostState(name="worker", is_met=False, observed=str(error), remedy=remedy)]
    states.append(
        HostState(
            name="worker",
            is_met=not problem,
            observed=f"cannot print a tensor: {problem}" if problem else "starts, is confined and prints a tensor",
            remedy="install torch and numpy in a virtual environment",
        )
    )
    for name, is_closed in protections(isolation).items():
        closed = "each worker runs in its own process" if name == "process" else "blocked (verified by trying)"
        reasons = [f"{layer}: {isolation.problems[layer]}" for layer in LAYERS[name] if layer in isolation.problems]
        observed = closed if is_closed else "; ".join(["open", *reasons])
        states.append(HostState(name=name, is_met=is_closed, observed=observed, remedy=REMEDIES[name]))
    return states


def _try_worker(course: Course) -> tuple[Isolation, str]:
    """Start a worker. Return its isolation, and the reason why it cannot print a tensor; empty if it can."""
    limits = Limits()
    source = open_worker_source(course.secret_folders())
    try:
        worker = source.start(limits)
        isolation = worker.wait_until_confined()
        try:
            load = Load(chunks=[Source(label="a line that prints a tensor", text=PRINTS_A_TENSOR)], entry="")
            reply = worker.request(load, time.monotonic() + limits.seconds.load)
            problem = f"{reply.type}: {reply.text}" if isinstance(reply, Raised) else ""
            if not problem and PRINTED not in worker.printed():
                problem = "nothing is printed"
        except TimeoutError:
            problem = f"no answer within {limits.seconds.load:g} s"
        except (DiedError, MalformedError) as error:
            problem = f"its worker {error}" if isinstance(error, DiedError) else str(error)
        worker.end()
    finally:
        source.close()
    return isolation, problem


def _python() -> HostState:
    return HostState(
        name="python",
        is_met=sys.version_info >= OLDEST_PYTHON,
        observed=platform.python_version(),
        remedy="install Python 3.11 or newer",
    )


def _packages() -> list[HostState]:
    """Return the state of each package that the installed kit requires on this system."""
    try:
        lines = metadata.requires("grader") or []
    except metadata.PackageNotFoundError:
        remedy = "run pip install -e . in the course's folder"
        return [HostState(name="packages", is_met=False, observed="the kit is not installed", remedy=remedy)]
    requirements = [Requirement(line) for line in lines]
    return [_package(each) for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]


def _package(requirement: Requirement) -> HostState:
    name, remedy = requirement.name, f"pip install '{requirement.name}{requirement.specifier}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return HostState(name=name, is_met=False, observed="missing", remedy=remedy)
    is_met = requirement.specifier.contains(version, prereleases=True)
    is_untried = name == "torch" and ".".join(version.split(".")[:2]) not in TRIED_TORCH
    if is_met and is_untried:
        remedy = f"the tried versions are {', '.join(TRIED_TORCH)}"
    observed = f"{version}, never tried with this kit" if is_untried else version
    return HostState(name=name, is_met=is_met, observed=observed, remedy=remedy, is_warning=is_met and is_untried)


def _bytecode() -> HostState:
    """Return whether the libraries that workers may import late are compiled. A worker cannot write bytecode."""
    sources = [Path(spec.origin) for name in LATE_LIBRARIES if (spec := find_spec(name)) and spec.origin]
    slow = [str(source.parent) for source in sources if not has_bytecode(source)]
    return HostState(
        name="bytecode",
        is_met=True,
        observed="missing, so every worker compiles the libraries" if slow else "the libraries are compiled",
        remedy=f"compile them once: python -m compileall -q {' '.join(slow)}",
        is_warning=bool(slow),
    )


def has_bytecode(source: Path) -> bool:
    """Return whether Python finds bytecode of this version of a source."""
    try:
        header = Path(cache_from_source(source)).read_bytes()[:HEADER_BYTES]
        modified = int(source.stat().st_mtime) & 0xFFFFFFFF
    except OSError:
        return False
    flags, written = (int.from_bytes(header[start : start + 4], "little") for start in (4, 8))
    return len(header) == HEADER_BYTES and header[:4] == MAGIC_NUMBER and (flags != 0 or written == modified)


def _disk(course: Course) -> HostState:
    free = shutil.disk_usage(course.root).free
    is_writable = os.access(course.root, os.W_OK)
    return HostState(
        name="disk",
        is_met=free > LEAST_FREE_BYTES and is_writable,
        observed=f"{free / 1e9:.1f} GB free, {'writable' if is_writable else 'read-only'}",
        remedy="free some space, or make the course's folder writable",
    )


def _warm_processes() -> HostState:
    """Return the state of the processes that wait for the next command."""
    found = [f"process {process}, {memory_of(process) / 1e6:.0f} MB" for process in warm_processes().values()]
    ending = f"python -m grader stop ends {'it' if len(found) == 1 else 'them'}"
    observed = "; ".join([*found, ending]) if found else "no warm process is running"
    return HostState(name="warm", is_met=True, observed=observed)


def _exercises(course: Course) -> HostState:
    total = len(course.exercise_ids())
    gradable = sum(course.reference(exercise_id).exists() for exercise_id in course.exercise_ids())
    full = f"{gradable} of {total} exercises have their reference, so all of their checks can run"
    return HostState(
        name="exercises",
        is_met=total > 0,
        observed=full if gradable else f"{total} exercises of a student edition",
        remedy="run the command in a course's folder, or name it with --course",
    )
