"""The nursery: a process forked before any secret is opened, which forks and reaps workers.

The examiner, whose end is a `Forker`, sends a request with the limits and three descriptors (the worker's end of its
connection, its stdout, its stderr), and gets back the worker's process id with a descriptor for it. Another request
reaps a dead worker and whatever it left.
"""

import contextlib
import os
import signal
import socket
import struct
import traceback
from typing import NoReturn

from grader.sandbox.layers import FILES, PR_SET_DUMPABLE, Layers, leave_namespaces, readable_folders, take_own_root
from grader.sandbox.protocol import send
from grader.sandbox.sandbox import (
    PR_SET_CHILD_SUBREAPER,
    Sandbox,
    close_descriptors,
    confine,
    control_process,
    die_with_parent,
    forget_environment,
)
from grader.sandbox.self_test import Outside, look_outside

REQUEST = struct.Struct(">BqQQ")
"""A request: its kind, then a process id or zero, output bytes and memory bytes allowed."""

ANSWER = struct.Struct(">q")
"""An answer: a process id, -1 where none can be forked, or a wait status."""

FORK, REAP = 1, 2
EXIT_FAILED_START = 97


def run_nursery(control: socket.socket, secret_folders: tuple[str, ...]) -> NoReturn:
    """Serve requests until the examiner hangs up or dies; never returns. SIGINT is blocked when this is called.

    The end of the connection tells of either. A signal at the examiner's death would come first, and leave behind
    what workers have started.
    """
    status = 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the examiner's to handle
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    outside = look_outside(secret_folders)
    try:
        import grader.sandbox.server  # noqa: F401 - while its file can be seen; torch has been imported by now

        control_process(PR_SET_DUMPABLE, 0)
        control_process(PR_SET_CHILD_SUBREAPER, 1)
        forget_environment()
        close_descriptors(keep=control.fileno())
        layers = Layers()
        if leave_namespaces(layers.problems):
            try:
                _go_on_as_the_first(control)
            except OSError:
                _refuse_requests(control)
            take_own_root(readable_folders(), FILES, layers.problems)
        try:
            _serve_requests(control, layers, outside)
        finally:
            _kill_children(but=set())
    except BaseException:  # noqa: BLE001 - this is a forked process: nothing may run on into the examiner's code
        _complain()
        status = EXIT_FAILED_START
    os._exit(status)


def _complain() -> None:
    """Say on stderr what has been raised: the examiner looks there for why a process is gone."""
    with contextlib.suppress(OSError):
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))


def _go_on_as_the_first(control: socket.socket) -> None:
    """Return in a child, the first process of its namespace: the kernel kills all the others there when it ends.

    What called this stays behind as the process that the examiner knows, and ends when its child does.
    """
    child = os.fork()
    if child:
        control.close()
        _, status = os.waitpid(child, 0)
        os._exit(abs(os.waitstatus_to_exitcode(status)))
    die_with_parent()


def _refuse_requests(control: socket.socket) -> NoReturn:
    """Answer every request with what says that no process can be forked."""
    while len(socket.recv_fds(control, REQUEST.size, 3)[0]) == REQUEST.size:
        control.sendall(ANSWER.pack(-1))
    os._exit(0)


def _serve_requests(control: socket.socket, layers: Layers, outside: Outside) -> None:
    workers: set[int] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, REQUEST.size, 3)
        if len(message) < REQUEST.size:
            return
        kind, process, output_bytes, memory_bytes = REQUEST.unpack(message)
        if kind == FORK:
            try:
                process = os.fork()
            except OSError:
                control.sendall(ANSWER.pack(-1))
                _close(descriptors)
                continue
            if process == 0:
                _become_worker(descriptors, Sandbox(layers, outside, output_bytes, memory_bytes))
            workers.add(process)
            _close(descriptors)
            _hand_over(control, process)
        else:
            _, status = os.waitpid(process, 0)
            workers.discard(process)
            _kill_children(but=workers)
            control.sendall(ANSWER.pack(status))


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _hand_over(control: socket.socket, process: int) -> None:
    """Send the examiner the worker's id and a descriptor for it, which no other process can come to mean."""
    handle = os.pidfd_open(process)
    socket.send_fds(control, [ANSWER.pack(process)], [handle])
    os.close(handle)


def _become_worker(descriptors: list[int], sandbox: Sandbox) -> NoReturn:
    status = EXIT_FAILED_START
    try:
        connection, stdout, stderr = descriptors
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        close_descriptors(keep=connection)

        from grader.sandbox.server import serve  # needs torch, which the examiner has imported by now

        end = socket.socket(fileno=connection)
        send(end, confine(sandbox))
        serve(end)
        status = 0
    except BaseException:  # noqa: BLE001 - for the same reason
        _complain()
    finally:
        os._exit(status)


def _kill_children(but: set[int]) -> None:
    """Kill and reap every process that a worker left behind; they come here when their parent ends."""
    while children := _children() - but:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


def _children() -> set[int]:
    """The children, by the numbers that they have here: /proc may show those of the host's namespace."""
    level = len(_numbers("thread-self")) - 1
    with open("/proc/thread-self/children", encoding="ascii") as file:
        return {_numbers(child)[level] for child in file.read().split()}


def _numbers(process: str) -> list[int]:
    """A process's numbers, from the namespace that /proc shows to its own."""
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
        line = next(line for line in file if line.startswith("NSpid:"))
    return [int(number) for number in line.split()[1:]]
