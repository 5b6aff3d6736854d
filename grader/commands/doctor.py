"""What this machine offers: each protection proven by an attempt, and whether the commands will work."""

import os
import platform
import shutil
import sys
from importlib import metadata

from packaging.requirements import Requirement

from grader.errors import KitError
from grader.processes.worker_source import open_worker_source
from grader.processes.workers import protections
from grader.report.view import HostState
from grader.sandbox.protocol import Isolation
from grader.spec.exercise import Limits
from grader.spec.paths import Course

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 200_000_000
"""Room for caches, kept copies and a gradebook."""

REMEDIES = {
    "process": "run on Linux, where workers are forked from a process that holds no secret",
    "filesystem": "Landlock: Linux 5.13 or newer with it among the security modules, and `pip install py-landlock`",
    "network": "`apt install libseccomp2` and `pip install pyseccomp`, or allow user namespaces",
    "syscalls": "`apt install libseccomp2` and `pip install pyseccomp`",
    "memory": "run graders and submissions under the same unprivileged user with `kernel.yama.ptrace_scope` at 1",
}
"""What to do about a protection that does not hold."""

LAYERS = {
    "process": (),
    "filesystem": ("landlock", "namespaces"),
    "network": ("seccomp", "namespaces"),
    "syscalls": ("seccomp",),
    "memory": ("landlock", "seccomp", "namespaces"),
}
"""The kernel's layers that a protection stands on."""


def examine_machine(course: Course) -> list[HostState]:
    """Everything the kit depends on, protections last."""
    found = [_python(), *_packages(), _disk(course), _solutions(course)]
    try:
        isolation = _isolation(course)
    except KitError as error:
        return [
            *found,
            HostState("worker", False, str(error), "grade with --spawn, which starts workers otherwise"),
        ]
    found.append(HostState("worker", True, "starts, is confined and answers"))
    for name, holds in protections(isolation).items():
        closed = "a worker's own" if name == "process" else "closed, as an attempt shows"
        why = [f"{layer}: {isolation.problems[layer]}" for layer in LAYERS[name] if layer in isolation.problems]
        found.append(HostState(name, holds, closed if holds else "; ".join(["open", *why]), REMEDIES[name]))
    return found


def _isolation(course: Course) -> Isolation:
    """What holds around a worker on this machine."""
    source = open_worker_source(course.secret_folders())
    try:
        worker = source.start(Limits())
        isolation = worker.wait_until_confined()
        worker.end()
    finally:
        source.close()
    return isolation


def _python() -> HostState:
    is_well = sys.version_info >= OLDEST_PYTHON
    return HostState("python", is_well, platform.python_version(), "install Python 3.11 or newer")


def _packages() -> list[HostState]:
    """The packages that the installed kit says it needs here, each with the versions that it admits."""
    try:
        lines = metadata.requires("grader") or []
    except metadata.PackageNotFoundError:
        return [HostState("packages", False, "the kit is not installed", "pip install -e . in the course's folder")]
    needed = [Requirement(line) for line in lines]
    return [_package(each) for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]


def _package(needed: Requirement) -> HostState:
    remedy = f"pip install '{needed.name}{needed.specifier}'"
    try:
        version = metadata.version(needed.name)
    except metadata.PackageNotFoundError:
        return HostState(needed.name, False, "missing", remedy)
    return HostState(needed.name, needed.specifier.contains(version, prereleases=True), version, remedy)


def _disk(course: Course) -> HostState:
    free = shutil.disk_usage(course.root).free
    is_well = free > LEAST_FREE_BYTES and os.access(course.root, os.W_OK)
    state = "writable" if os.access(course.root, os.W_OK) else "read-only"
    return HostState(
        "disk", is_well, f"{free / 1e9:.0f} GB free, {state}", "make room, or let the course's folder be written"
    )


def _solutions(course: Course) -> HostState:
    hidden = [exercise for exercise in course.exercise_ids() if course.reference(exercise).exists()]
    total = len(course.exercise_ids())
    seen = f"{len(hidden)} of {total} exercises can be graded by hidden checks"
    return HostState("exercises", total > 0, seen if hidden else f"{total} exercises of a student edition")
