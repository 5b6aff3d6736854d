"""The client of a warm process: decides whether a command may be answered by one, and asks it.

The client must start in hundredths of a second, so it imports neither click nor rich nor torch. If anything unexpected
happens, the result is `None`, and the command runs as if there were no warm process.
"""

import os
import re
import signal
import socket
import sys

from grader.errors import INTERRUPTED, SIGNAL_EXIT
from grader.processes.warm_socket import (
    ACCEPTED,
    DONE,
    GO,
    RUN_REQUEST,
    CommandRequest,
    is_stopped,
    own_folder,
    peer_of,
    receive_message,
    send_message,
    socket_path,
)
from grader.spec.course_folder import course_folder
from grader.spec.exercise_names import NAME_OR_NUMBER_PATTERN

COMMANDS = ("grade", "hint", "report")
"""The commands that a warm process answers."""

FLAGS = ("--json", "--names", "--warm")
VALUES = ("--seed", "--file", "-o", "--output")
"""The options that a warm process knows; those in `VALUES` are followed by a value."""

EXERCISE = re.compile(rf"(?:.*/)?{NAME_OR_NUMBER_PATTERN}(?:/.*)?", re.IGNORECASE)
"""A word that may name an exercise: its id, its number or a path."""

ACCEPT_SECONDS = 0.5
"""How long a process may take to accept a request; an idle one takes a few milliseconds."""

LOOK_SECONDS = 0.5
"""Seconds between checks that the process is still running."""

INTERRUPT_SECONDS = 5.0
"""How long an interrupted process may take to answer."""


def warm_path(arguments: list[str]) -> str | None:
    """Return the socket at which a warm process may answer the command; None if the command must run without one."""
    if sys.platform != "linux" or os.environ.get("CI") or os.environ.get("GRADER_WARM") == "0":
        return None
    if not is_answered_warm(arguments):
        return None
    try:
        if "--warm" not in arguments and not os.isatty(1):
            return None
        course, folder = course_folder(os.getcwd()), own_folder()
        return socket_path(folder, course) if course and folder else None
    except (OSError, ValueError):
        return None


def is_answered_warm(arguments: list[str]) -> bool:
    """Return whether a command is one of `COMMANDS` with known options, or an exercise without a command."""
    words = []
    expects_value = False
    for argument in arguments:
        if expects_value:
            expects_value = False
        elif argument in VALUES:
            expects_value = True
        elif argument.startswith("-"):
            if argument not in FLAGS and argument.partition("=")[0] not in VALUES:
                return False
        else:
            words.append(argument)
    return bool(words) and all(word in COMMANDS or EXERCISE.fullmatch(word) for word in words)


def ask_warm_process(path: str, arguments: list[str]) -> int | None:
    """Let the warm process at this socket run the command; return the exit code, or None if it must run here.

    End a process that is suspended: it would answer nobody.
    """
    try:
        status = os.lstat(path)
        if status.st_uid != os.getuid():
            return None
        connection = socket.socket(socket.AF_UNIX)
    except OSError:
        return None
    with connection:
        try:
            connection.settimeout(ACCEPT_SECONDS)
            connection.connect(path)
            process, user = peer_of(connection)
            if user != os.getuid():
                return None
            handle = os.pidfd_open(process)
        except OSError:
            return None
        try:
            return _ask(connection, process, handle, arguments)
        finally:
            os.close(handle)


def _ask(connection: socket.socket, process: int, handle: int, arguments: list[str]) -> int | None:
    umask = os.umask(0o077)
    os.umask(umask)
    try:
        request = CommandRequest(arguments, os.getcwd(), os.environ, umask)
        send_message(connection, RUN_REQUEST, request.encode(), (0, 1, 2))
        kind, _, _ = receive_message(connection)
        if kind != ACCEPTED:
            return None
        send_message(connection, GO)
    except OSError:  # it is busy, or hangs
        if is_stopped(process):
            _signal(handle, signal.SIGKILL)
        return None
    connection.settimeout(LOOK_SECONDS)
    handlers = {number: signal.signal(number, _end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        return _answer(connection, process, handle)
    except KeyboardInterrupt:
        _signal(handle, signal.SIGINT)
        connection.settimeout(INTERRUPT_SECONDS)
        try:
            receive_message(connection)
        except OSError:
            pass  # it has ended
        return INTERRUPTED
    except SystemExit:
        _signal(handle, signal.SIGINT)
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _answer(connection: socket.socket, process: int, handle: int) -> int | None:
    """Wait for the answer as long as the process runs."""
    while True:
        try:
            kind, body, _ = receive_message(connection)
        except TimeoutError:
            if is_stopped(process):
                _signal(handle, signal.SIGKILL)
                return None
            continue
        except OSError:  # it has ended
            return None
        if kind == DONE and len(body) == 1:
            return body[0]
        return None  # the process declines, or does not belong to the kit


def _signal(handle: int, number: int) -> None:
    try:
        signal.pidfd_send_signal(handle, number)
    except OSError:
        pass  # it has ended


def _end(number: int, _frame: object) -> None:
    raise SystemExit(SIGNAL_EXIT + number)
