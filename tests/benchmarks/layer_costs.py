"""Measure the milliseconds of each layer: once in the nursery, and in every worker until it is ready."""

import json
import os
import statistics
import time
from collections.abc import Callable

import msgspec

from grader.sandbox import sandbox as confinement
from grader.sandbox.layers import FILES, Layers, leave_namespaces, readable_folders, take_own_root
from grader.sandbox.sandbox import become_nobody, drop_capabilities
from grader.sandbox.self_test import Outside, find_isolation, look_outside
from grader.sandbox.torch_import import import_torch

WORKERS = 40
OUTPUT_BYTES, MEMORY_BYTES = 1_000_000, 1 << 30


def measure_layers() -> tuple[dict[str, float], dict[str, float]]:
    """Return the times of the nursery's steps, and the medians of the worker's. Call it with no secret open."""
    reading, writing = os.pipe()
    nursery = os.fork()
    if nursery == 0:
        try:
            os.write(writing, msgspec.json.encode(_measure_in_nursery()))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        once, each = json.loads(file.read())
    os.waitpid(nursery, 0)
    return once, each


def _measure_in_nursery() -> tuple[dict[str, float], dict[str, float]]:
    import_torch()
    import grader.sandbox.server  # noqa: F401 - as the nursery does

    once: dict[str, float] = {}
    outside = look_outside()
    made: list[Layers] = []
    _time(once, "find the libraries, make the filter", lambda: made.append(Layers(())))
    _time(once, "namespaces", lambda: leave_namespaces(made[0].problems))
    reading, writing = os.pipe()
    started = time.perf_counter()
    first = os.fork()
    if first:
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            answer = json.loads(file.read())
        os.waitpid(first, 0)
        return once | answer[0], answer[1]
    once["fork into the process namespace"] = _since(started)
    _time(once, "a root of its own", lambda: take_own_root(readable_folders(()), FILES, made[0].problems))
    rounds = [_measure_worker(made[0], outside) for _ in range(WORKERS)]
    each = {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]}
    os.write(writing, json.dumps((once, each)).encode())
    os._exit(0)


def _measure_worker(layers: Layers, outside: Outside) -> dict[str, float]:
    """Return the times of the steps of `grader.sandbox.sandbox.confine`, in a fork."""
    reading, writing = os.pipe()
    started = time.perf_counter()
    worker = os.fork()
    if worker == 0:
        try:
            os.write(writing, json.dumps({"fork": _since(started)} | _confine(layers, outside)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        figures: dict[str, float] = json.loads(file.read())
    os.waitpid(worker, 0)
    return figures


def _confine(layers: Layers, outside: Outside) -> dict[str, float]:
    figures: dict[str, float] = {}
    _time(figures, "limits", lambda: confinement._limit_resources(OUTPUT_BYTES, MEMORY_BYTES))
    _time(figures, "a user of its own", lambda: become_nobody(readable_folders(())))
    _time(figures, "capabilities", drop_capabilities)
    confinement.control_process(confinement.PR_SET_NO_NEW_PRIVS, 1)
    _time(figures, "Landlock", layers._rules.apply)
    _time(figures, "seccomp", layers._filter.load)
    _time(figures, "attempts to break out", lambda: find_isolation(outside))
    return figures


def _time(figures: dict[str, float], name: str, step: Callable[[], object]) -> None:
    started = time.perf_counter()
    step()
    figures[name] = _since(started)


def _since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)


if __name__ == "__main__":
    print(measure_layers())
