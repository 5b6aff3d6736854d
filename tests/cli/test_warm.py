"""The warm process: the same verdicts as without it, whatever happens to it, and nothing left of it."""

import contextlib
import json
import os
import pty
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from grader.cli import command_line
from grader.processes import warm_socket
from grader.processes.memory import memory_of
from grader.processes.warm_client import COMMANDS, FLAGS, VALUES, is_answered_warm
from grader.processes.warm_server import IDLE_VARIABLE, MAX_MEMORY_BYTES
from grader.processes.warm_socket import ACCEPTED, DONE, GO, RUN_REQUEST, STOP_REQUEST, receive_message, send_message
from grader.processes.worker_source import CAN_FORK
from tests.support.corpus import read_corpus
from tests.support.hostile import ended, relatives
from tests.support.paths import ROOT
from tests.support.warm import GRADE, WarmCourse, impostor, kill, until

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="there are warm processes on Linux alone")

Disturbance = Callable[[WarmCourse], object]

HEADER = struct.Struct("!cI")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory, run_cli: object) -> Iterator[WarmCourse]:
    course = WarmCourse(tmp_path_factory.mktemp("warm"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_WARM", "1")
        patch.setenv("XDG_RUNTIME_DIR", str(course.runtime))
        patch.setenv(IDLE_VARIABLE, "300")
        patch.delenv("CI", raising=False)
        yield course
        course.end()


@pytest.fixture(scope="module")
def cold_verdict(warm: WarmCourse) -> dict:
    return warm.verdict(*GRADE[:1], "--cold", *GRADE[2:])


def sending(data: bytes) -> Disturbance:
    def send(course: WarmCourse) -> None:
        with course.connection() as connection:
            connection.sendall(data)

    return send


def silent(course: WarmCourse) -> None:
    with course.connection():
        time.sleep(1.2)


def with_descriptors(count: int) -> Disturbance:
    def send(course: WarmCourse) -> None:
        with course.connection() as connection, open(os.devnull) as null:
            request = warm_socket.CommandRequest([*GRADE], str(course.root), {}, 0)
            with contextlib.suppress(OSError):  # it may leave as soon as it has read the descriptors
                send_message(connection, RUN_REQUEST, request.encode(), (null.fileno(),) * count)
                receive_message(connection)

    return send


def answered_with(reply: bytes | None) -> Disturbance:
    """Let a client leave, or answer with something else, after its request was accepted."""

    def ask(course: WarmCourse) -> None:
        with course.ask() as connection:
            assert receive_message(connection)[0] == ACCEPTED
            if reply is not None:
                connection.sendall(reply)

    return ask


def asking(*arguments: str, **changes: object) -> Disturbance:
    def ask(course: WarmCourse) -> None:
        with contextlib.suppress(OSError), course.ask(*arguments, **changes) as connection:
            receive_message(connection)
            send_message(connection, GO)
            receive_message(connection)

    return ask


def crowd(course: WarmCourse) -> None:
    connections = []
    for _ in range(20):
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            connection.connect(str(course.path()))
        connections.append(connection)
    for connection in connections:
        connection.close()


def signalled(number: int) -> Disturbance:
    return lambda course: kill(course.warmed(), number)


def killed_nursery(course: WarmCourse) -> None:
    os.kill(course.nursery(), signal.SIGKILL)


def in_place_of_socket(make: Callable[[Path], object]) -> Disturbance:
    def replace(course: WarmCourse) -> None:
        path = course.path()
        path.unlink()
        make(path)

    return replace


def nobody_listens(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))


def lock_replaced(make: Callable[[Path], object]) -> Disturbance:
    def replace(course: WarmCourse) -> None:
        (lock,) = course.folder.glob("*.lock")
        kill(course.warmed())
        lock.unlink()
        make(lock)

    return replace


def folder_changed(change: Callable[[Path], object]) -> Disturbance:
    return lambda course: change(course.folder)


def owned_by_another(folder: Path) -> None:
    if os.getuid() == 0:
        os.chown(folder, 65534, 65534)


def folder_is_link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def file_in_place_of_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


def touched(*paths: str) -> Disturbance:
    def touch(course: WarmCourse) -> None:
        for path in paths:
            os.utime(course.root / path)

    return touch


def graded(*arguments: str) -> Disturbance:
    return lambda course: course.run(*arguments)


def submitted(text: str) -> Disturbance:
    """Grade this text through the warm process."""

    def submit(course: WarmCourse) -> None:
        file = course.root / "submission.py"
        file.write_text(text)
        course.run("3", "--file", file, "--warm", "--json")
        file.unlink()

    return submit


def edited(course: WarmCourse) -> None:
    text = course.file.read_text()
    course.file.write_text("nothing = 0\n")
    assert course.verdict()["outcome"] == "not_gradable"
    course.file.write_text(text)


def moved_course(course: WarmCourse) -> None:
    moved = course.root.with_name("moved")
    course.root.rename(moved)
    assert until(lambda: course.process() is None)
    moved.rename(course.root)


def reference_changed(course: WarmCourse) -> None:
    path = course.root / "solutions/exercise_03/attention.py"
    path.write_text(path.read_text() + "\n# changed\n")


def no_progress(course: WarmCourse) -> None:
    shutil.rmtree(course.root / ".grader")


def two_at_once(course: WarmCourse) -> None:
    clients = [course.client() for _ in range(2)]
    outputs = [json.loads(client.communicate()[0]) for client in clients]
    assert [output["score"] for output in outputs] == [0.0, 0.0]


def client_ends(number: int) -> Disturbance:
    """Let a client get a signal while its command runs."""

    def end(course: WarmCourse) -> None:
        file = course.root / "slow.py"
        file.write_text("import time\ntime.sleep(1)\n" + course.file.read_text())
        with course.client("3", "--file", file, "--warm", "--json") as client:
            time.sleep(0.5)
            client.send_signal(number)
            client.communicate()

    return end


def killed_while_busy(course: WarmCourse) -> None:
    file = course.root / "slow.py"
    file.write_text("import time\ntime.sleep(1)\n" + course.file.read_text())
    process = course.warmed()
    with course.client("3", "--file", file, "--warm", "--json", "--seed", "7") as client:
        time.sleep(0.5)
        kill(process)
        output = client.communicate()[0]
    assert json.loads(output)["score"] == 0.0


def stopped_while_busy(course: WarmCourse) -> None:
    file = course.root / "slow.py"
    file.write_text("import time\ntime.sleep(1)\n" + course.file.read_text())
    process = course.warmed()
    with course.client("3", "--file", file, "--warm", "--json", "--seed", "7") as client:
        time.sleep(0.5)
        kill(process, signal.SIGSTOP)
        output = client.communicate()[0]
    assert json.loads(output)["score"] == 0.0


def pipe_without_reader(course: WarmCourse) -> None:
    with course.client() as client:
        assert client.stdout is not None
        client.stdout.close()
        client.wait()


def disk_full(course: WarmCourse) -> None:
    with open("/dev/full", "w") as full:
        subprocess.run(
            [sys.executable, "-m", "grader", *GRADE],
            cwd=course.root,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.DEVNULL,
            check=False,
        )


ODD_CLIENTS: dict[str, Disturbance] = {
    "connects and leaves": sending(b""),
    "is silent": silent,
    "sends half a header": sending(b"R\0"),
    "announces too much": sending(HEADER.pack(b"R", 2**32 - 1)),
    "announces more than it sends": sending(HEADER.pack(b"R", 1000) + b"short"),
    "sends an unknown kind": sending(HEADER.pack(b"?", 0)),
    "sends an empty request": sending(HEADER.pack(b"R", 0)),
    "sends garbage": sending(bytes(range(256)) * 10),
    "sends no descriptor": with_descriptors(0),
    "sends one descriptor": with_descriptors(1),
    "sends two descriptors": with_descriptors(2),
    "sends ten descriptors": with_descriptors(10),
    "leaves when it is accepted": answered_with(None),
    "answers with another message": answered_with(HEADER.pack(STOP_REQUEST, 0)),
    "answers with garbage": answered_with(b"?"),
    "comes from a folder that is missing": asking(folder="/nowhere/at/all"),
    "comes from another course": asking(folder=str(ROOT)),
    "has no environment": asking(environment={}),
    "has an odd mask": asking(umask=0o7777),
    "asks for a command that is never warm": asking("batch", "x", "--gradebook", "y"),
    "asks for nothing": asking(""),
    "asks to end it": sending(HEADER.pack(STOP_REQUEST, 0)),
    "comes in a crowd": crowd,
}
DISTURBED_PROCESSES: dict[str, Disturbance] = {
    "killed": signalled(signal.SIGKILL),
    "terminated": signalled(signal.SIGTERM),
    "crashed": signalled(signal.SIGSEGV),
    "stopped": signalled(signal.SIGSTOP),
    "hung up": signalled(signal.SIGHUP),
    "interrupted": signalled(signal.SIGINT),
    "alarmed": signalled(signal.SIGALRM),
    "nursery killed": killed_nursery,
    "killed while busy": killed_while_busy,
    "stopped while busy": stopped_while_busy,
    "its client killed": client_ends(signal.SIGKILL),
    "its client interrupted": client_ends(signal.SIGINT),
    "its client terminated": client_ends(signal.SIGTERM),
    "its client hung up": client_ends(signal.SIGHUP),
    "two clients at once": two_at_once,
    "stopped by command": graded("stop"),
}
DISTURBED_FILES: dict[str, Disturbance] = {
    "socket removed": in_place_of_socket(lambda _path: None),
    "a file in its place": in_place_of_socket(lambda path: path.write_text("")),
    "a folder in its place": in_place_of_socket(lambda path: path.mkdir()),
    "a link in its place": in_place_of_socket(lambda path: path.symlink_to("/dev/null")),
    "a broken link in its place": in_place_of_socket(lambda path: path.symlink_to("/nowhere")),
    "a pipe in its place": in_place_of_socket(os.mkfifo),
    "a socket of nobody in its place": in_place_of_socket(nobody_listens),
    "lock removed": lock_replaced(lambda _path: None),
    "a link in place of the lock": lock_replaced(lambda path: path.symlink_to("/nowhere")),
    "a folder in place of the lock": lock_replaced(lambda path: path.mkdir()),
    "folder removed": folder_changed(shutil.rmtree),
    "folder open to others": folder_changed(lambda folder: folder.chmod(0o755)),
    "folder of another user": folder_changed(owned_by_another),
    "a file in place of the folder": folder_changed(file_in_place_of_folder),
    "a link in place of the folder": folder_changed(folder_is_link),
}
DISTURBED_COURSES: dict[str, Disturbance] = {
    "file edited and restored": edited,
    "description touched": touched("solutions/exercise_03/exercise.yaml"),
    "key touched": touched("solutions/exercise_03/key.json"),
    "reference touched": touched("solutions/exercise_03/attention.py"),
    "reference changed": reference_changed,
    "progress removed": no_progress,
    "another exercise": graded("2", "--warm"),
    "a hint": graded("hint", "3", "--warm"),
    "a report": graded("report", "3", "--warm", "-o", os.devnull),
    "a trial": graded("try", "3", "--warm"),
    "a cold run": graded("3", "--cold"),
    "another seed": graded("3", "--warm", "--seed", "8"),
    "a wrong seed": graded("3", "--warm", "--seed", "x"),
    "a missing file": graded("3", "--warm", "--file", "missing.py"),
    "course moved": moved_course,
    "output on a full disk": disk_full,
    "output that nobody reads": pipe_without_reader,
}
DISTURBING_SUBMISSIONS: dict[str, Disturbance] = {
    "is empty": submitted(""),
    "cannot be parsed": submitted("def"),
    "ends its process": submitted("import os; os._exit(0)"),
    "crashes": submitted("import ctypes; ctypes.string_at(0)"),
    "takes all memory": submitted("x = [bytes(1 << 24) for _ in range(1 << 20)]"),
    "prints without end": submitted("while True: print('x' * 1000000)"),
    "looks for the socket": submitted("import glob; raise ValueError(glob.glob('/tmp/w*') + glob.glob('/run/user/*'))"),
}
DISTURBANCES = {
    f"{kind} {name}": disturb
    for kind, table in (
        ("a client", ODD_CLIENTS),
        ("a process", DISTURBED_PROCESSES),
        ("files:", DISTURBED_FILES),
        ("the course:", DISTURBED_COURSES),
        ("a submission", DISTURBING_SUBMISSIONS),
    )
    for name, disturb in table.items()
}
QUICK = ("a client sends garbage", "a process killed", "files: socket removed")


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[] if each in QUICK else [pytest.mark.slow]) for each in DISTURBANCES]
)
def test_a_right_verdict_follows_whatever_happens(warm: WarmCourse, cold_verdict: dict, name: str) -> None:
    warm.warmed()
    DISTURBANCES[name](warm)
    assert warm.verdict() == cold_verdict
    if name.startswith("files:"):
        warm.start_afresh()


IMPOSTORS = {
    "silent": (None, b""),
    "closes": (b"", b""),
    "garbage": (b"?" * 100, b""),
    "refuses": (HEADER.pack(b"C", 0), b""),
    "accepts and leaves": (HEADER.pack(ACCEPTED, 0), b""),
    "accepts and answers garbage": (HEADER.pack(ACCEPTED, 0), b"?" * 100),
    "no exit code": (HEADER.pack(ACCEPTED, 0), HEADER.pack(DONE, 0)),
    "too much": (HEADER.pack(ACCEPTED, 0), HEADER.pack(DONE, 2**32 - 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IMPOSTORS)
def test_whatever_listens_in_its_place_decides_nothing(warm: WarmCourse, cold_verdict: dict, name: str) -> None:
    kill(warm.warmed())
    with impostor(warm.path(), *IMPOSTORS[name]):
        assert warm.verdict() == cold_verdict


def test_warm_and_cold_verdicts_are_the_same(warm: WarmCourse, cold_verdict: dict) -> None:
    process = warm.warmed()
    assert warm.verdict() == cold_verdict
    assert until(lambda: warm.process() == process)
    assert memory_of(process) < MAX_MEMORY_BYTES


def test_a_changed_kit_or_setting_is_another_process(warm: WarmCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    first, path = warm.warmed(), warm.path()
    monkeypatch.setenv("GRADER_OTHER", "1")
    assert warm.path() != path
    warm.run(*GRADE)
    assert until(lambda: warm.process() not in (None, first))
    assert not path.exists()
    assert until(lambda: not Path(f"/proc/{first}").exists())


def test_files_of_the_kit_are_in_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "module.py").write_text("one")
    monkeypatch.setattr(warm_socket, "KIT", str(tmp_path))
    before = warm_socket.socket_path("/run", "/course")
    (tmp_path / "room" / "module.py").write_text("other")
    assert warm_socket.socket_path("/run", "/course") != before


@pytest.mark.slow
def test_nothing_is_left_after_the_idle_time(warm: WarmCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    warm.start_afresh()
    monkeypatch.setenv(IDLE_VARIABLE, "3")
    process = warm.warmed()
    processes = {process, *relatives(process)}
    assert ended(processes)
    assert list(warm.runtime.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "is_warm"),
    [
        (["3"], True),
        (["exercise_03", "--json"], True),
        (["grade", "exercises/exercise_03/attention.py", "--seed", "7"], True),
        (["hint", "3", "2", "--warm"], True),
        (["report", "3", "-o", "x.html"], True),
        ([], False),
        (["3", "--cold"], False),
        (["3", "--strict"], False),
        (["3", "--course", "x"], False),
        (["grade", "--all"], False),
        (["watch", "3"], False),
        (["diff", "3"], False),
        (["batch", "x", "--gradebook", "y"], False),
    ],
)
def test_which_commands_a_warm_process_answers(arguments: list[str], is_warm: bool) -> None:
    assert is_answered_warm(arguments) is is_warm


ALWAYS_COLD = {"--all", "--cold", "--course", "--spawn", "--strict"}
"""The options of warm commands with which a command runs in its own process."""


def options_of(command: click.Command) -> dict[str, bool]:
    """Whether each option of a command is a flag, by the option's names."""
    options = [each for each in command.params if isinstance(each, click.Option)]
    return {name: each.is_flag for each in options for name in each.opts}


def test_the_client_knows_the_warm_commands_and_each_of_their_options() -> None:
    by_command = {name: options_of(command) for name, command in command_line.commands.items()}
    by_command = {name: options for name, options in by_command.items() if "--warm" in options}
    assert set(by_command) == set(COMMANDS)
    options = {name: is_flag for each in by_command.values() for name, is_flag in each.items()}
    assert {name for name, is_flag in options.items() if is_flag} - ALWAYS_COLD == set(FLAGS)
    assert {name for name, is_flag in options.items() if not is_flag} - ALWAYS_COLD == set(VALUES)
    assert options.keys() >= ALWAYS_COLD


@pytest.mark.parametrize("name", ["CI", "GRADER_WARM", "no terminal"])
def test_no_process_stays_where_nobody_waits_for_it(
    warm: WarmCourse, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    warm.run("stop")
    if name != "no terminal":
        monkeypatch.setenv(name, "0" if name == "GRADER_WARM" else "true")
    warm.run("3", "--json", *([] if name == "no terminal" else ["--warm"]))
    assert warm.process() is None
    assert not warm.folder.exists()


@pytest.mark.slow
def test_a_terminal_gets_its_page_from_the_warm_process(warm: WarmCourse) -> None:
    with warm.client() as first:
        first.communicate()
    assert until(lambda: warm.process() is not None)
    process = warm.process()
    assert process is not None
    assert warm.is_at_rest(process)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "grader", "3"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with subprocess.Popen(
        command, cwd=warm.root, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as client:
        os.close(theirs)
        output = b""
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                output += part
    os.close(ours)
    assert client.returncode == 1
    assert b"\x1b[" in output
    assert b"Not yet" in output
    assert warm.process() == process


ATTACKS = [
    each
    for each in read_corpus()
    if each.path.suffix == ".py" and each.path.is_file() and not (each.expected.hangs or each.expected.slow)
]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_attacks_forge_no_verdict_of_the_warm_process(warm: WarmCourse, part: int) -> None:
    forged = {}
    for attack in ATTACKS[part :: 6 * 10]:
        file = warm.root / "attack.py"
        file.write_bytes(attack.source().replace(b"@EXAMINER@", str(warm.warmed()).encode()))
        done = warm.run("3", "--file", file, "--warm", "--json")
        verdict = json.loads(done.stdout)
        if verdict["outcome"] != attack.expected.outcome or verdict["score"] > attack.expected.bound():
            forged[attack.key] = (verdict["outcome"], verdict["score"])
    assert forged == {}
