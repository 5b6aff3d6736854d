"""The nursery: a process forked before any secret is opened, which forks and reaps workers.

The examiner sends requests through a `Forker`. A `ForkRequest` comes with three descriptors: the worker's end of its
connection, its stdout and its stderr. The answer is the worker's process id, with a descriptor for the process. A
`ReapRequest` reaps a dead worker and kills its remaining processes.
"""

import contextlib
import os
import signal
import socket
import traceback
from collections.abc import Sequence
from typing import NoReturn

import msgspec
from msgspec import Struct

from grader.sandbox import wire
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
    overwrite_freed_memory,
)
from grader.sandbox.self_test import Outside, look_outside
from grader.sandbox.torch_import import complete_torch
from grader.sandbox.wire import ClosedError


class ForkRequest(Struct, frozen=True, kw_only=True, tag=True):
    """Fork a worker with these limits; sent with three descriptors."""

    output_bytes: int
    memory_bytes: int


class ReapRequest(Struct, frozen=True, kw_only=True, tag=True):
    """Reap a killed worker, and kill the processes that it started."""

    process: int


class NurseryAnswer(Struct, frozen=True, kw_only=True):
    """The process id of a forked worker, or `NO_PROCESS`; the wait status of a reaped one."""

    number: int


NO_PROCESS = -1
DESCRIPTORS = 3
EXIT_FAILED_START = 97

encode_request = msgspec.msgpack.Encoder().encode
_requests: msgspec.msgpack.Decoder[ForkRequest | ReapRequest] = msgspec.msgpack.Decoder(ForkRequest | ReapRequest)
decode_answer = msgspec.msgpack.Decoder(NurseryAnswer).decode


def run_nursery(control: socket.socket, secret_folders: tuple[str, ...], *, for_tests: bool = False) -> NoReturn:
    """Serve requests until the examiner closes the connection or dies; never return. The caller blocks SIGINT.

    With `for_tests`, load pytest and all of torch too, for workers that run a student's tests. Such tests ask other
    workers for tensors, which must not show earlier contents of the memory.

    If the examiner dies, its connection ends too. A signal at its death would end the nursery at once, and the workers'
    own processes would keep running.
    """
    status = 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the examiner handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    outside = look_outside(secret_folders)
    try:
        import grader.sandbox.server

        if for_tests:
            import grader.sandbox.traps.test_server  # noqa: F401 - as above

            complete_torch()  # a test with a generator of its own needs it
            overwrite_freed_memory()

        folders = readable_folders(secret_folders)  # while the environment still names the home folder
        control_process(PR_SET_DUMPABLE, 0)
        control_process(PR_SET_CHILD_SUBREAPER, 1)
        forget_environment()
        _leave_terminal()
        close_descriptors(keep=control.fileno())
        layers = Layers(secret_folders)
        if leave_namespaces(layers.problems):
            try:
                _continue_as_first_process(control)
            except OSError:
                _refuse_requests(control)
            take_own_root(folders, FILES, layers.problems)
        try:
            _serve_requests(control, layers, outside)
        finally:
            _kill_children(but=set())
    except BaseException:  # noqa: BLE001 - a forked process must not return into the examiner's code
        _complain()
        status = EXIT_FAILED_START
    os._exit(status)


def _leave_terminal() -> None:
    """Close the terminal, whose end would also end this process; a warm process outlives its terminal."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)


def _complain() -> None:
    """Write the traceback to stderr, where the examiner looks for the reason."""
    with contextlib.suppress(OSError):
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))


def _continue_as_first_process(control: socket.socket) -> None:
    """Return in a child that is the first process of its namespace. When it ends, the kernel kills all others there.

    The calling process keeps the id that the examiner knows, and ends when the child ends.
    """
    child = os.fork()
    if child:
        control.close()
        _, status = os.waitpid(child, 0)
        os._exit(abs(os.waitstatus_to_exitcode(status)))
    die_with_parent()


def _refuse_requests(control: socket.socket) -> NoReturn:
    """Answer every request with `NO_PROCESS`."""
    with contextlib.suppress(ClosedError):
        while True:
            wire.receive_with_descriptors(control, DESCRIPTORS)
            _answer(control, NO_PROCESS)
    os._exit(0)


def _serve_requests(control: socket.socket, layers: Layers, outside: Outside) -> None:
    workers: set[int] = set()
    while True:
        try:
            body, descriptors = wire.receive_with_descriptors(control, DESCRIPTORS)
        except ClosedError:
            return
        request = _requests.decode(body)
        if isinstance(request, ForkRequest):
            try:
                process = os.fork()
            except OSError:
                _answer(control, NO_PROCESS)
                _close(descriptors)
                continue
            if process == 0:
                _become_worker(descriptors, _sandbox_for(request, layers, outside))
            workers.add(process)
            _close(descriptors)
            _hand_over(control, process)
        else:
            _, status = os.waitpid(request.process, 0)
            workers.discard(request.process)
            _kill_children(but=workers)
            _answer(control, status)


def _sandbox_for(request: ForkRequest, layers: Layers, outside: Outside) -> Sandbox:
    return Sandbox(layers=layers, outside=outside, output_bytes=request.output_bytes, memory_bytes=request.memory_bytes)


def _answer(control: socket.socket, number: int, descriptors: Sequence[int] = ()) -> None:
    wire.send(control, msgspec.msgpack.encode(NurseryAnswer(number=number)), descriptors)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _hand_over(control: socket.socket, process: int) -> None:
    """Send the examiner the worker's id and a process descriptor, which can never refer to another process."""
    handle = os.pidfd_open(process)
    _answer(control, process, [handle])
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
    except BaseException:  # noqa: BLE001 - a forked process must not return
        _complain()
    finally:
        os._exit(status)


def _kill_children(but: set[int]) -> None:
    """Kill and reap all processes that dead workers left behind; they become children of this process."""
    while children := _children() - but:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


def _children() -> set[int]:
    """Return the ids of the children in this namespace; /proc may show the ids of the host's namespace."""
    level = len(_process_ids("thread-self")) - 1
    with open("/proc/thread-self/children", encoding="ascii") as file:
        return {_process_ids(child)[level] for child in file.read().split()}


def _process_ids(process: str) -> list[int]:
    """Return a process's ids in all namespaces, from that of /proc to its own."""
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
        line = next(line for line in file if line.startswith("NSpid:"))
    return [int(number) for number in line.split()[1:]]
