"""Frames, tensors, sessions and workers: messages across the boundary, and the remaining rights of a worker."""

import codecs
import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest
import torch

from grader.checks.proxies import SubjectFactory
from grader.checks.session import Session, SubjectDiedError, SubjectKilledError, SubjectTimedOutError
from grader.errors import KitError, LostNurseryError
from grader.processes import worker_source
from grader.processes.worker_source import Forker
from grader.processes.workers import Worker
from grader.sandbox import protocol
from grader.sandbox.protocol import (
    MAX_DIMENSIONS,
    Returned,
    TensorValue,
)
from grader.sandbox.sandbox import ENVIRONMENT
from grader.sandbox.torch_import import import_torch
from grader.sandbox.values import MAX_DEPTH, from_python, tensors_in, to_python, to_tensor
from grader.sandbox.wire import HEADER, MAX_FRAME_BYTES, ClosedError, MalformedError
from grader.spec.exercise import Limits, Seconds
from grader.spec.loading import load_exercise
from grader.submission import submission_from_text
from tests.support.hostile import Household, at_import, in_forward, reference, relatives, running_with
from tests.support.judging import Judge
from tests.support.paths import ROOT

SOON = 0.3
LONG = 30.0
MAX_SECONDS = 3.0
"""Processor time for what would take minutes if it were not cut short."""


def reply_to(sent: bytes, deadline: float = LONG, *, hang_up: bool = True) -> protocol.Reply:
    """What the examiner makes of these bytes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        if hang_up:
            theirs.shutdown(socket.SHUT_WR)
        return protocol.receive_reply(ours, time.monotonic() + deadline)


def framed(body: bytes) -> bytes:
    return HEADER.pack(len(body)) + body


NESTED = b"\x82\xa7message\xa8Sequence\xa5items\x91"
DEEP = b"\x83\xa7message\xa8Returned\xa6inputs\x80\xa5value" + NESTED * 5_000 + b"\xc0"


@pytest.mark.parametrize(
    ("sent", "error", "words"),
    [
        (HEADER.pack(MAX_FRAME_BYTES + 1), MalformedError, "announces 67,108,865 bytes"),
        (HEADER.pack(2**32 - 1), MalformedError, "announces 4,294,967,295 bytes"),
        (b"\0\0", ClosedError, "ended"),
        (HEADER.pack(10) + b"12345", ClosedError, "ended"),
        (b"", ClosedError, "ended"),
        (framed(b""), MalformedError, "truncated"),
        (framed(b"\xc1" * 8), MalformedError, "malformed"),
        (framed(b"\x91" * 100_000), MalformedError, "got `array`"),
        (framed(DEEP), MalformedError, "recursion"),
        (framed(msgspec.msgpack.encode({"message": "Nothing"})), MalformedError, "Invalid value 'Nothing'"),
        (framed(msgspec.msgpack.encode(protocol.Read(module=1, name="x"))), MalformedError, "Invalid value 'Read'"),
        (framed(msgspec.msgpack.encode({"message": "Built", "parameters": {}})), MalformedError, "missing required"),
        (framed(msgspec.msgpack.encode({"message": "Built", "parameters": {"w": ["1"]}})), MalformedError, "`int`"),
        (framed(b"\x82\xa7message\xa5Built\xa8misfits\x91\xa1\xff"), MalformedError, "(?i)utf-8"),
    ],
)
def test_an_invalid_reply_is_refused(sent: bytes, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        reply_to(sent)


def test_a_reply_that_trickles_in_ends_at_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    done = threading.Event()

    def trickle() -> None:
        theirs.sendall(HEADER.pack(1000))
        while not done.wait(SOON / 10):
            theirs.sendall(b"\xc0")

    thread = threading.Thread(target=trickle)
    thread.start()
    started = time.monotonic()
    try:
        with pytest.raises(TimeoutError):
            protocol.receive_reply(ours, started + SOON)
        assert SOON <= time.monotonic() - started < LONG
    finally:
        done.set()
        thread.join()
        ours.close()
        theirs.close()


def test_a_message_over_the_limit_is_not_sent() -> None:
    ours, theirs = socket.socketpair()
    large = TensorValue(dtype="uint8", shape=[MAX_FRAME_BYTES], data=bytes(MAX_FRAME_BYTES))
    with ours, theirs, pytest.raises(MalformedError, match="over the limit of 67,108,864"):
        protocol.send(ours, Returned(value=large, inputs={}))


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("float32", [2, 3], 23),
        ("float32", [2, 3], 25),
        ("float32", [-2, -3], 24),
        ("float32", [-1], 0),
        ("float32", [0, 2**63], 0),
        ("float32", [0, 2**40, 2**40], 0),
        ("float32", [2**64], 8),
        ("complex64", [1], 8),
        ("../etc", [1], 4),
        ("", [], 0),
        ("float64", [], 4),
        ("bool", [3], 2),
    ],
)
def test_bytes_that_make_no_tensor_are_refused(dtype: str, shape: list[int], size: int) -> None:
    with pytest.raises(ValueError, match=r"no such dtype|do not make a"):
        to_tensor(TensorValue(dtype=dtype, shape=shape, data=bytes(size)))


def test_a_shape_of_a_million_sizes_is_refused_before_it_is_multiplied_out() -> None:
    started = time.process_time()
    for sizes in ([2**63 - 1] * 1_000_000, [0] * 1_000_000, [1] * (MAX_DIMENSIONS + 1)):
        with pytest.raises(ValueError, match="dimensions; at most 64 are allowed"):
            to_tensor(TensorValue(dtype="float32", shape=sizes, data=b""))
    assert time.process_time() - started < MAX_SECONDS


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(2, 3, 5),
        torch.randn(2, 3, 5).transpose(0, 2),
        torch.randn(()),
        torch.empty(3, 0, 2),
        torch.randn(3).bfloat16(),
        torch.randn(3).double(),
        torch.tensor([True, False]),
        torch.tensor([-128, 127], dtype=torch.int8),
        torch.tensor([torch.nan, torch.inf, -0.0]),
        torch.zeros(1).expand(1000),
        torch.nn.Parameter(torch.randn(2)),
        torch.randn(2, requires_grad=True),
        torch.randn(2, dtype=torch.complex64).conj().imag,
    ],
    ids=lambda tensor: f"{tensor.dtype}{tuple(tensor.shape)}",
)
def test_a_dense_tensor_arrives_bit_for_bit(tensor: torch.Tensor) -> None:
    sent = framed(msgspec.msgpack.encode(Returned(value=from_python(tensor), inputs={})))
    reply = reply_to(sent)
    assert isinstance(reply, Returned)
    arrived = to_python(reply.value)
    assert type(arrived) is torch.Tensor
    assert (arrived.dtype, arrived.shape) == (tensor.dtype, tensor.shape)
    assert arrived.is_contiguous()
    torch.testing.assert_close(arrived, tensor.detach(), rtol=0, atol=0, equal_nan=True)


def test_plain_values_arrive_and_the_rest_is_described() -> None:
    class Text(str):
        __slots__ = ()

    values = {"a": (1, [2.5, None]), "b": True, "c": "x" * 5000, "d": Text("passed"), "e": 2**64, "f": {1: 2}}
    arrived = to_python(from_python(values))
    assert arrived["a"] == (1, [2.5, None])
    assert arrived["b"] is True
    assert len(arrived["c"]) == protocol.MAX_TEXT
    described = [arrived[name].description.rpartition(".")[2] for name in "def"]
    assert described == ["Text", "an object of type int", "an object of type dict"]
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    depth, inner = 0, to_python(from_python(deep))
    while isinstance(inner, list):
        depth, inner = depth + 1, inner[0]
    assert depth == MAX_DEPTH
    del deep[:]


def test_a_value_that_is_too_large_in_total_is_never_converted() -> None:
    shared: list[object] = [None] * 100
    for _ in range(MAX_DEPTH - 1):
        shared = [shared] * 100
    views = [torch.zeros(1).expand(7_500_000)] * 999
    values = ([None] * 1_000_000, shared, views, {"views": views})
    started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    described = [from_python(value) for value in values]
    assert all(isinstance(value, protocol.Other) for value in described)
    assert "with more than 1,000 values" in described[1].description
    assert "tensors of 29,970,000,000 bytes together" in described[2].description
    assert not tensors_in(views)
    assert time.process_time() - started < MAX_SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000  # kB


def test_a_tensor_that_the_protocol_has_no_room_for_is_described() -> None:
    described = {from_python(tensor).description for tensor in (torch.empty(0, 2**62), torch.ones((1,) * 65))}
    assert described == {"a tensor of shape (0, 4611686018427387904)", "a tensor of 65 dimensions"}


def test_the_tensors_in_a_value_are_listed_in_order() -> None:
    first, second = torch.ones(2), torch.nn.Parameter(torch.ones(3))
    assert [*tensors_in((first, [second, first.to_sparse(), "text"], {"name": first}))] == [first, second, first]


@pytest.fixture
def forker(judge_text: Judge) -> Forker:
    return judge_text.source


SPY = """
import torch, os, sys, stat, resource
def kinds():
    for descriptor in range(256):
        try:
            found = os.fstat(descriptor)
        except OSError:
            continue
        yield str(descriptor), [stat.filemode(found.st_mode)[0], found.st_dev, found.st_ino, found.st_rdev]
class CausalSelfAttention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.report = {
            "environment": dict(os.environ), "descriptors": dict(kinds()), "folder": os.getcwd(),
            "arguments": sys.argv, "path": list(sys.path), "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
            "input": sys.stdin.read(), "pid": os.getpid(),
        }
        print("printed")
        print("complained", file=sys.stderr)
"""


def spy(worker: Worker) -> dict:
    """What a submission can see around itself."""
    deadline = time.monotonic() + LONG
    worker.wait_until_confined()
    loaded = worker.request(
        protocol.Load(chunks=[protocol.Source(label="attention.py", text=SPY)], entry="CausalSelfAttention"), deadline
    )
    assert isinstance(loaded, protocol.Loaded), loaded
    built = worker.request(protocol.Build(module=1, entry="CausalSelfAttention", arguments={}), deadline)
    assert isinstance(built, protocol.Built), built
    reply = worker.request(protocol.Read(module=1, name="report"), deadline)
    assert isinstance(reply, Returned), reply
    return to_python(reply.value)


def test_a_worker_inherits_nothing_of_the_examiner(forker: Forker, capfd) -> None:
    worker = forker.start(Limits())
    report = spy(worker)
    printed = worker.printed()
    worker.end()
    assert sorted(report["environment"]) == [
        "HOME", "LANG", "LOGNAME", "OMP_NUM_THREADS", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "SHELL", "USER"
    ]  # fmt: skip
    opened = report["descriptors"]
    socket_number = next(name for name in opened if int(name) > 2)
    assert set(opened) == {"0", "1", "2", socket_number}
    assert (opened[socket_number][0], opened["0"][0], opened["0"][3]) == ("s", "c", Path(os.devnull).stat().st_rdev)
    ours = [[os.fstat(descriptor).st_dev, os.fstat(descriptor).st_ino] for descriptor in (1, 2)]
    assert opened["1"][1:3] not in ours
    assert opened["2"][1:3] not in ours
    assert report["folder"] == ENVIRONMENT["PWD"]
    assert report["arguments"] == ["train.py"]
    beside = [entry for entry in report["path"] if not entry.startswith(sys.prefix)]  # which may lie inside the course
    assert not [entry for entry in beside if entry.startswith(str(ROOT)) or entry in ("", ".")]
    assert (report["core"], report["input"]) == (0, "")
    assert printed == b"printed\n"
    assert capfd.readouterr() == ("", "")


def test_ending_one_worker_leaves_another_alone(forker: Forker) -> None:
    forker.start(Limits()).end()  # the first worker also starts the nursery
    before = Household()
    first, second = forker.start(Limits()), forker.start(Limits())
    first.end()
    assert spy(second)["folder"] == ENVIRONMENT["PWD"]
    third = forker.start(Limits())
    second.end()
    assert spy(third)["folder"] == ENVIRONMENT["PWD"]
    third.end()
    after = Household()
    assert (after.processes, after.descriptors) == (before.processes, before.descriptors)


NAP = "while True: time.sleep(0.01)"
"""An endless loop that leaves the processor to others, for tests that wait until the deadline."""

POISON = in_forward(f"if x.shape[1] == 5: os._exit(7)\nif x.shape[1] == 6:\n    {NAP}")
ARGUMENTS = {"input_dim": 4, "output_dim": 6, "context_length": 8, "dropout": 0.0}


def session_of(judge: Judge, seconds: Seconds, source: str = POISON) -> Session:
    exercise = load_exercise(judge.course.description("exercise_03"))
    exercise = msgspec.structs.replace(exercise, limits=Limits(seconds=seconds))
    return Session(judge.source, exercise, submission_from_text(source))


REUSES = (
    reference()
    + """

class CausalSelfAttention(CausalSelfAttention):
    def forward(self, x):
        output = super().forward(x).detach()
        self.kept = self.kept.copy_(output) if hasattr(self, "kept") else output
        return self.kept
"""
)


def test_each_value_of_several_calls_is_recorded_before_the_next_call_may_change_it(judge_text: Judge) -> None:
    session = session_of(judge_text, Seconds(load=10.0, check=5.0, total=60.0), REUSES)
    try:
        session.load()
        session.begin_check()
        module = SubjectFactory(session)(**ARGUMENTS)
        inputs = [{"x": torch.randn(2, 5, 4)} for _ in range(3)]
        together = module.call_each([*inputs, inputs[0]])
        assert [len(each.unique()) > 1 for each in together] == [True] * 4
        for seen, each in zip(together, [*inputs, inputs[0]], strict=True):
            assert torch.equal(seen, module(**each))
        assert not torch.equal(together[0], together[1])
    finally:
        session.close()


@pytest.mark.slow
def test_a_session_goes_on_with_a_new_worker_and_ends_where_it_hung_twice(judge_text: Judge) -> None:
    session = session_of(judge_text, Seconds(load=10.0, check=2.0, total=60.0))
    subject = SubjectFactory(session)
    try:
        session.load()
        session.begin_check()
        with pytest.raises(SubjectDiedError, match="exit code 7"):
            subject(**ARGUMENTS)(x=torch.randn(2, 5, 4))
        session.begin_check()
        module = subject(**ARGUMENTS)
        assert module(x=torch.randn(2, 3, 4)).shape == (2, 3, 6)
        hangs = 0
        while not (over := session.why_over()):
            session.begin_check(has_full_time=hangs > 0)  # a machine may be busy
            with pytest.raises(SubjectTimedOutError, match=r"still running after") as told:
                subject(**ARGUMENTS)(x=torch.randn(2, 6, 4))
            assert told.value.location is not None
            assert NAP in told.value.location.text
            hangs += 1
        assert hangs >= 2
        assert over == "it hung 2 times in forward, so it is not run again"
    finally:
        session.close()


def test_a_session_ends_with_its_budget(judge_text: Judge) -> None:
    session = session_of(judge_text, Seconds(load=10.0, check=1.0, total=0.5))
    try:
        while not (over := session.why_over()):
            session.begin_check()
            with pytest.raises(SubjectTimedOutError, match=r"of 0\.5 s for all"):
                SubjectFactory(session)(**ARGUMENTS)(x=torch.randn(2, 6, 4))
        assert over.startswith(
            ("the 0.5 s for all checks were used up", "it hung 2 times")
        )  # the second cause is for machines with few processors
    finally:
        session.close()


def test_a_checks_time_limit_follows_from_the_references_time(judge_text: Judge) -> None:
    exercise = load_exercise(judge_text.course.description("exercise_03"))
    session = Session(judge_text.source, exercise, submission_from_text(POISON), reference_seconds=lambda: 0.064)
    try:
        session.begin_check()
        with pytest.raises(SubjectTimedOutError, match=r"a check may take 3\.2 s"):
            SubjectFactory(session)(**ARGUMENTS)(x=torch.randn(2, 6, 4))
    finally:
        session.close()


@pytest.mark.slow
def test_a_check_gets_less_time_once_the_submission_has_hung(judge_text: Judge) -> None:
    session = session_of(judge_text, Seconds())

    def limit_of_a_check() -> str:
        session.begin_check()
        with pytest.raises(SubjectTimedOutError) as told:
            SubjectFactory(session)(**ARGUMENTS)(x=torch.randn(2, 6, 4))
        return re.search(r"a check may take \d+ s", str(told.value))[0]

    try:
        limits = []
        while not session._hangs and len(limits) < 5:  # on a busy machine, a late answer does not count as a hang
            limits.append(limit_of_a_check())
        assert set(limits) == {"a check may take 3 s"}
        assert limit_of_a_check() == "a check may take 1 s"
    finally:
        session.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_killed_from_outside_is_distinguished(judge_text: Judge, number: signal.Signals) -> None:
    session = session_of(judge_text, Seconds())
    try:
        session.load()
        assert session._worker is not None
        os.kill(session._worker._process.number(), number)
        with pytest.raises(SubjectDiedError) as told:
            SubjectFactory(session)(**ARGUMENTS)
        assert isinstance(told.value, SubjectKilledError)
        with pytest.raises(SubjectDiedError) as told:
            SubjectFactory(session)(**ARGUMENTS)(x=torch.randn(2, 5, 4))
        assert not isinstance(told.value, SubjectKilledError)
    finally:
        session.close()


def test_a_worker_that_hangs_up_and_is_killed_by_the_kit_was_not_killed_from_outside(judge_text: Judge) -> None:
    text = in_forward("os.closerange(3, 100)\nwhile True: pass")
    exercise = load_exercise(judge_text.course.description("exercise_03"))
    session = Session(judge_text.source, exercise, submission_from_text(text))
    try:
        session.begin_check()
        with pytest.raises(SubjectDiedError) as told:
            SubjectFactory(session)(**ARGUMENTS)(x=torch.randn(2, 3, 4))
        assert not isinstance(told.value, SubjectKilledError)
    finally:
        session.close()


def test_where_memory_runs_out_workers_are_killed_first(judge_text: Judge) -> None:
    worker = judge_text.source.start(Limits())
    try:
        worker.wait_until_confined()
        number = worker._process.number()
        assert Path(f"/proc/{number}/oom_score_adj").read_text().strip() == "1000"
        assert Path("/proc/self/oom_score_adj").read_text().strip() != "1000"
    finally:
        worker.end()


def test_everything_dies_with_the_examiner(tmp_path) -> None:
    file = tmp_path / "looping.py"
    daemon = "try:\n    if os.fork() == 0:\n        os.setsid()\nexcept PermissionError: pass\n"
    file.write_text(at_import(daemon + "while True: time.sleep(1)"), encoding="utf-8")
    command = [sys.executable, "-m", "grader", "exercise_03", "--file", str(file)]
    examiner = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + LONG
    while len(relatives(examiner.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(SOON)
    assert len(relatives(examiner.pid)) >= 2, "a nursery, a worker and, where it may fork, a daemon"
    examiner.send_signal(signal.SIGKILL)
    assert examiner.wait() == -signal.SIGKILL
    while running_with(str(file)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert running_with(str(file)) == set()


@pytest.mark.parametrize("more", [0, 1, 2])
def test_where_processes_are_limited_to_a_few_it_says_so(more: int) -> None:
    """The nursery, the first process of its namespace and a worker: each may be the one too many."""
    import grader.sandbox.server  # noqa: F401 - who may start few processes here cannot read it, nor encodings

    codecs.lookup("ascii")

    nobody = 50_000 + 5_000 * more + os.getpid() % 5_000  # runs nothing, and no other test does so as this user
    here, there = socket.socketpair()
    process = os.fork()
    if process == 0:
        try:
            if os.geteuid() == 0:
                os.setresgid(nobody, nobody, nobody)
                os.setresuid(nobody, nobody, nobody)
            most = _tasks_of(os.getuid()) + more
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
            try:
                Forker().start(Limits())
                said = "a worker was started"
            except KitError as error:
                said = str(error)
            there.sendall(said.encode())
        finally:
            os._exit(0)
    there.close()
    os.waitpid(process, 0)
    assert here.recv(MAX_FRAME_BYTES).decode().startswith("no process can be started for a submission")


def _tasks_of(user: int) -> int:
    """How many processes and threads a user has."""
    folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdecimal()]
    return sum(_count_tasks(folder) for folder in folders if _owner(folder) == user)


def _owner(folder: Path) -> int:
    try:
        return folder.stat().st_uid
    except OSError:
        return -1


def _count_tasks(folder: Path) -> int:
    try:
        return len(list((folder / "task").iterdir()))
    except OSError:
        return 0


NO_PROCESS = 2**22 + 1
"""Past the largest process id that Linux gives."""


def test_a_nursery_that_dies_leaves_the_reason_on_stderr() -> None:
    import_torch()
    lost = Forker()
    why = r"has died or hangs \(ChildProcessError: \[Errno 10\] No child processes\); run"
    with pytest.raises(LostNurseryError, match=why):
        lost.wait_for(lost.reap(NO_PROCESS))
    lost.close()


def test_a_nursery_that_dies_while_it_starts_a_worker_is_closed_all_the_same() -> None:
    import_torch()
    before = Household()
    lost = Forker()
    lost.start_ahead(Limits())
    os.kill(lost._process, signal.SIGKILL)
    lost.close()
    after = Household()
    assert (after.processes, after.descriptors) == (before.processes, before.descriptors)


def test_a_nursery_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    import_torch()
    before = Household()
    monkeypatch.setattr(worker_source, "NURSERY_END_SECONDS", 0.2)
    stopped = Forker()
    stopped.start(Limits()).end()
    own = Household().processes - before.processes
    assert stopped._process in own
    os.kill(stopped._process, signal.SIGSTOP)
    ended = threading.Thread(target=stopped.close, daemon=True)
    ended.start()
    ended.join(LONG)
    try:
        assert not ended.is_alive()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(stopped._process, signal.SIGCONT)
    ended.join()
    left = Household().processes
    assert not left & own
    assert left <= before.processes  # an orphan of another lane, which looks like one of ours, may have ended meanwhile
