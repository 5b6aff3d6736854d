"""A warm process: an examiner that stays after its command, and answers the next ones until it is idle too long.

It is a fork of the process that ran the command, so its nursery was forked before any secret was read. Its caller
passes the function that runs a request. A process that may be damaged ends, because the next command can always run
without it.
"""

import contextlib
import faulthandler
import fcntl
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import NoReturn, Protocol

from grader.errors import INTERRUPTED
from grader.processes.memory import memory_of
from grader.processes.warm_socket import (
    ACCEPTED,
    COLD,
    DONE,
    GO,
    LOCK_SUFFIX,
    RUN_REQUEST,
    SOCKET_SUFFIX,
    STOP_REQUEST,
    STREAMS,
    CommandRequest,
    is_private,
    lock_path,
    own_folder,
    peer_of,
    receive_message,
    send_message,
)

IDLE_SECONDS = 600.0
IDLE_VARIABLE = "GRADER_WARM_IDLE"
"""The environment variable that sets another idle time, in seconds."""

LOOK_SECONDS = 2.0
"""Seconds between checks that the socket, the course and the nursery are still there."""

BACKLOG = 16
"""How many clients may wait for an answer. Those that wait long run their command themselves."""

REQUEST_SECONDS = 1.0
"""How long a client may take to send its request or to answer."""

MAX_COMMAND_SECONDS = 600.0
"""How long a command may take; then the process ends, and the client runs the command itself."""

MAX_MEMORY_BYTES = 600 << 20
"""The most memory that the process may use after a command."""

SOUND_CODES = (0, 1, 2)
"""The exit codes after which the process answers the next command: fixed, not yet, wrong usage."""

TAKE_OVER_SECONDS = 5.0
"""How long the course's former process may take to end."""


class WarmService(Protocol):
    """What a warm process does for its clients."""

    def run(self, arguments: list[str]) -> int:
        """Run a command on the standard streams and return its exit code; raise an exception if in doubt."""

    def rest(self, is_idle: Callable[[], bool]) -> None:
        """Prepare for the next command while the process is idle; raise an exception if the process is in doubt."""

    def is_usable(self) -> bool:
        """Return whether the course and the worker source are still there."""


def stay_warm(path: str, service: WarmService, inherited: set[int]) -> None:
    """Fork a warm process that listens at this socket. Return in the caller, which ends as if there were none.

    `inherited` are the descriptors that the caller got from its own caller; the warm process closes them.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        process = os.fork()
    except OSError:
        return
    if process == 0:
        _live(path, service, inherited)


def _live(path: str, service: WarmService, inherited: set[int]) -> NoReturn:
    """Serve in a forked process; never return into the command's code."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGTTOU, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _leave_terminal()
        for descriptor in inherited:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        os.chdir("/")
        with _listening(path) as place:
            if place is not None:
                service.rest(place.is_idle)
                _serve(place, service)
    finally:
        os._exit(0)


def _leave_terminal() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(STREAMS):
        os.dup2(null, descriptor)
    os.close(null)


class _Place:
    """A listening socket and its path, where somebody may put something else."""

    def __init__(self, path: str, listener: socket.socket) -> None:
        self.listener = listener
        self._path = path
        self._identity = _identity(path)

    def is_own(self) -> bool:
        """Return whether the socket is still at its path."""
        return self._identity is not None and _identity(self._path) == self._identity

    def is_idle(self) -> bool:
        """Return whether no client waits."""
        return not select.select([self.listener], [], [], 0)[0]


@contextlib.contextmanager
def _listening(path: str) -> Iterator["_Place | None"]:
    """Yield a place with a socket that listens at the path; None if the course has a warm process that does not end.

    Remove the socket and the lock at the end.
    """
    folder = os.path.dirname(path)
    lock = _lock(path)
    if lock is None:
        yield None
        return
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # left by a process that was killed
            listener.bind(path)
            listener.listen(BACKLOG)
            place = _Place(path, listener)
            try:
                yield place
            finally:
                if place.is_own():
                    os.unlink(path)
    finally:
        if _is_at(lock_path(path), lock):
            os.unlink(lock_path(path))
        os.close(lock)
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # if no other course has a warm process


def _lock(path: str) -> int | None:
    """Lock the course for this process and return the lock. End a former process that listens at another socket.

    Return None if a process listens at this socket, the former process does not end, or the folder is not private.
    """
    place, folder, until = lock_path(path), os.path.dirname(path), time.monotonic() + TAKE_OVER_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)  # the former process removes it
        if not is_private(folder):
            return None
        try:
            lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            if _listens(path):  # another command of the same kit was faster, or the process is busy
                return None
            _stop_course(place)
            time.sleep(0.05)
            continue
        if _is_at(place, lock):
            _remove_sockets(place, but=path)
            return lock
        os.close(lock)  # its former holder removed it meanwhile
    return None


def _listens(path: str) -> bool:
    """Return whether a process listens at the path, even if it is busy."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)
        try:
            connection.connect(path)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True


def _identity(path: str) -> tuple[int, int] | None:
    """Return a value that identifies the file at the path: a later file there has another value, even if it reuses the
    inode. Return None if the file is missing.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


def _is_at(path: str, descriptor: int) -> bool:
    """Return whether an open file is still at the path."""
    identity = _identity(path)
    return identity is not None and identity[0] == os.fstat(descriptor).st_ino


def _sockets_of(lock: str) -> list[str]:
    """Return the sockets of the course with this lock."""
    folder, _, name = lock.rpartition("/")
    course = name.removesuffix(LOCK_SUFFIX)
    return [f"{folder}/{each}" for each in os.listdir(folder) if each.startswith(f"{course}-")]


def _stop_course(lock: str) -> None:
    for path in _sockets_of(lock):
        stop_at(path, 0.0)


def _remove_sockets(lock: str, but: str) -> None:
    for path in _sockets_of(lock):
        if path != but:
            with contextlib.suppress(OSError):
                os.unlink(path)


def stop_at(path: str, seconds: float = TAKE_OVER_SECONDS) -> int | None:
    """End the warm process at a socket; return its id, or None if there was none.

    It has this many seconds to end by itself. After that it is killed, unless `seconds` is 0.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(REQUEST_SECONDS)
            connection.connect(path)
            process, user = peer_of(connection)
            if user != os.getuid():
                return None
            handle = os.pidfd_open(process)
            try:
                with contextlib.suppress(OSError):
                    send_message(connection, STOP_REQUEST)
                if seconds and not select.select([handle], [], [], seconds)[0]:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    select.select([handle], [], [], seconds)
            finally:
                os.close(handle)
            return process
    except OSError:
        return None


def warm_processes() -> dict[str, int]:
    """Return the ids of this user's warm processes, by socket."""
    folder = own_folder()
    found: dict[str, int] = {}
    for path in sorted(os.listdir(folder)) if folder is not None and is_private(folder) else ():
        if path.endswith(SOCKET_SUFFIX):
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(REQUEST_SECONDS)
                connection.connect(f"{folder}/{path}")
                process, user = peer_of(connection)
                if user == os.getuid():
                    found[f"{folder}/{path}"] = process
    return found


def stop_all() -> list[int]:
    """End this user's warm processes and remove what they left; return their ids."""
    stopped = [stop_at(path) for path in warm_processes()]
    folder = own_folder()
    if folder is not None and is_private(folder):
        for name in os.listdir(folder):
            if name.endswith((SOCKET_SUFFIX, LOCK_SUFFIX)):
                with contextlib.suppress(OSError):
                    os.unlink(f"{folder}/{name}")
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return [process for process in stopped if process is not None]


def _idle_seconds() -> float:
    try:
        return float(os.environ[IDLE_VARIABLE])
    except (KeyError, ValueError):
        return IDLE_SECONDS


def _serve(place: _Place, service: WarmService) -> None:
    """Answer one client after another until the idle time passes without a client, or the process must end."""
    listener, idle = place.listener, _idle_seconds()
    until = time.monotonic() + idle
    listener.settimeout(0)
    while (left := until - time.monotonic()) > 0:
        if not place.is_own() or not service.is_usable():
            return
        if not select.select([listener], [], [], min(left, LOOK_SECONDS))[0]:
            continue
        try:
            connection, _ = listener.accept()
        except OSError:  # the client has left
            continue
        with connection:
            if not _answer(connection, service):
                return
        service.rest(place.is_idle)
        if memory_of("self") > MAX_MEMORY_BYTES:
            return
        until = time.monotonic() + idle


def _answer(connection: socket.socket, service: WarmService) -> bool:
    """Answer a client; return whether this process may answer the next one."""
    connection.settimeout(REQUEST_SECONDS)
    streams: list[int] = []
    try:
        if peer_of(connection)[1] != os.getuid():
            return True
        kind, body, streams = receive_message(connection)
        if kind == STOP_REQUEST:
            return False
        if kind != RUN_REQUEST or len(streams) != STREAMS:
            return True
        request = CommandRequest.decode(body)
        send_message(connection, ACCEPTED)
        if receive_message(connection)[0] != GO:
            return True
        with _in_place_of_client(request, streams):
            kind, answer, is_sound = _run(request, service)
    except (OSError, ValueError):  # the client has left, or sent an invalid message
        return True
    finally:
        for stream in streams:
            os.close(stream)
    with contextlib.suppress(OSError):
        send_message(connection, kind, answer)
    return is_sound


def _run(request: CommandRequest, service: WarmService) -> tuple[bytes, bytes, bool]:
    """Run the command; return the kind and the body of the answer, and whether this process is still sound."""
    faulthandler.dump_traceback_later(MAX_COMMAND_SECONDS, exit=True, file=2)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = service.run(request.arguments)
        return DONE, bytes([code & 0xFF]), code in SOUND_CODES
    except KeyboardInterrupt:  # the client sent it, and has ended; what was interrupted is unknown
        return DONE, bytes([INTERRUPTED]), False
    except BaseException:  # noqa: BLE001 - the client runs the command again, and shows what is wrong
        return COLD, b"", False
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def _in_place_of_client(request: CommandRequest, streams: list[int]) -> Iterator[None]:
    """Inside the block, use the client's streams, folder, environment and file mode mask."""
    os.chdir(request.folder)
    environment, umask = dict(os.environ), os.umask(request.umask)
    try:
        os.environ.clear()
        os.environ.update(request.environment)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        _renew_streams()
        try:
            yield
        finally:
            for name in ("stdout", "stderr"):
                with contextlib.suppress(OSError, ValueError):
                    getattr(sys, name).flush()
    finally:
        _leave_terminal()
        os.umask(umask)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir("/")


def _renew_streams() -> None:
    """Replace Python's standard streams, which remember whether the former streams were terminals."""
    encoding = sys.stdout.encoding
    streams = (("stdin", 0, "r", "strict"), ("stdout", 1, "w", "strict"), ("stderr", 2, "w", "backslashreplace"))
    for name, number, mode, errors in streams:
        stream = open(number, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115 - stays open
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
