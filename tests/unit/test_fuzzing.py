"""Frames, descriptions, notebooks and modules of any content raise only declared errors, in bounded time and memory.

`GRADER_FUZZING=20000 pytest tests/unit/test_fuzzing.py` tries that many of each, others in every run.
"""

import json
import signal
import socket
import struct
import tempfile
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from grader.checks.outcome import Examination, Finding, Outcome
from grader.errors import SpecError
from grader.report.json import render_json
from grader.sandbox.torch_import import import_torch
from grader.spec.loading import read_exercise
from grader.spec.paths import Course
from grader.submission import Submission, Unreadable, read_submission
from grader.submission.submission import from_module, from_notebook
from grader.verdict.attribution import VariantComparison
from grader.verdict.key import Key
from grader.verdict.verdict import make_verdict
from tests.support.fuzzing import DEEP, NASTY_TEXTS, SECONDS, fuzzing, leaves, mutated, spoilt, within_bounds
from tests.support.paths import ROOT

import_torch()

import torch  # noqa: E402 - as the examiner imports it

from grader.checks.compare import compare, compare_gradient  # noqa: E402
from grader.checks.findings import outcome_of_error  # noqa: E402
from grader.checks.proxies import SubjectFactory  # noqa: E402
from grader.checks.session import Session, SubjectError  # noqa: E402
from grader.checks.unloadable import load_finding, missing_entry  # noqa: E402
from grader.processes.workers import Worker  # noqa: E402
from grader.sandbox import protocol  # noqa: E402
from grader.sandbox.protocol import receive_reply  # noqa: E402
from grader.sandbox.values import TORCH_DTYPES, flatten, from_python  # noqa: E402
from grader.sandbox.wire import MAX_FRAME_BYTES, ClosedError, MalformedError  # noqa: E402
from grader.spec.loading import load_exercise  # noqa: E402
from tests.support.pages import terminal_page  # noqa: E402

COURSE = Course(root=ROOT)
EXERCISE = "exercise_03"


# The frame decoder, and the outcomes made from its results.

OUTPUT = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
TENSOR = from_python(OUTPUT)
LINE = protocol.Location(label="attention.py", line=30, text="values = self.W_value(x)", column=9)
RAISED = protocol.Raised(
    type="RuntimeError", bases=["RuntimeError", "Exception", "object"], text="shapes do not match", location=LINE
)
ISOLATED = protocol.Isolation(process=True, filesystem=True, network=True, syscalls=True, memory=True)
LOADED = protocol.Loaded(
    classes=["CausalSelfAttention"],
    entry_found=True,
    entry_is_module=True,
    trees={"CausalSelfAttention.forward": "FunctionDef()"},
    tolerated=RAISED,
)
BUILT = protocol.Built(
    parameters={"W_key.weight": [4, 3], "W_key.bias": [4]},
    misfits=[protocol.Misfit(name="W_value.weight", expected=[4, 3])],
)
VALUES = (OUTPUT, (OUTPUT, None), [1, 2.5, "three", True, {"four": OUTPUT}], None, torch.ones(0), torch.tensor(1j))
RETURNED = tuple(
    protocol.Returned(
        value=from_python(value),
        inputs={"x": TENSOR},
        parameter_gradients={"W_key.weight": TENSOR, "W_key.bias": None},
        input_gradients={"x": TENSOR},
    )
    for value in VALUES
)
BUILDS = msgspec.structs.replace(BUILT, misfits=[])
REPLIES = (ISOLATED, LOADED, BUILT, RAISED, *RETURNED, protocol.Parsed(fingerprint="d1"))

NESTS = (
    (b"\x91", b"\xc0"),
    (b"\x81\xa1a", b"\xc0"),
    (b"\x83\xa7message\xa8Sequence\xa8is_tuple\xc3\xa5items\x91", b"\x82\xa7message\xa6Scalar\xa5value\xc0"),
    (b"\x82\xa7message\xa7Mapping\xa5items\x81\xa1a", b"\x82\xa7message\xa6Scalar\xa5value\xc0"),
)

BROKEN_MSGPACK = (
    *(bytes([each]) for each in range(0xC0, 0xE0)),
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\xdb\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff\x01",
    b"\xd9\x02\xed\xa0",
    b"\xa7message\xa6Scalar",
)


def framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


@st.composite
def frames(draw: st.DrawFn, replies: tuple[protocol.Message, ...]) -> bytes:
    """A real reply, one with its parts changed, one with its bytes changed, or bytes that never were one."""
    kind = draw(st.sampled_from(["real", "mutated", "mutated", "mutated", "spoilt", "bytes"]))
    body = msgspec.msgpack.encode(draw(st.sampled_from(replies)))
    if kind == "mutated":
        parts = msgspec.msgpack.decode(body)
        body = msgspec.msgpack.encode(draw(mutated(parts, st.one_of(leaves, st.just(DEEP), st.binary(max_size=100)))))
        before, after = draw(st.sampled_from(NESTS))
        body = body.replace(b"\xc4\x08" + DEEP, before * draw(st.sampled_from([5, 40, 300, 5000])) + after)
    elif kind == "spoilt":
        body = draw(spoilt(body, BROKEN_MSGPACK))
    elif kind == "bytes":
        body = draw(st.binary(max_size=200))
    size = len(body) if draw(st.integers(0, 9)) else draw(st.integers(0, 2**32 - 1))
    return struct.pack(">I", size) + body


@fuzzing
@given(frames(REPLIES))
def test_any_frame_is_a_reply_or_one_of_the_declared_errors(frame):
    ours, theirs = socket.socketpair()
    with ours, theirs, within_bounds():
        theirs.settimeout(0)
        sent = theirs.send(frame)
        theirs.shutdown(socket.SHUT_WR)
        try:
            reply = receive_reply(ours, time.monotonic() + SECONDS)
        except (MalformedError, ClosedError):
            return
        assert isinstance(reply, protocol.Reply)
        assert sent >= struct.unpack(">I", frame[:4])[0]


class Scripted:
    """A source of workers that send recorded replies to any request."""

    def __init__(self, script: list[bytes]) -> None:
        self._script = script

    def order(self, limits: Any) -> None: ...

    def start(self, _limits: Any) -> Worker:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
        theirs.settimeout(0)
        theirs.send(framed(msgspec.msgpack.encode(ISOLATED)) + b"".join(self._script))
        theirs.shutdown(socket.SHUT_WR)
        return Worker(ours, tempfile.TemporaryFile(), tempfile.TemporaryFile(), Script(theirs))

    def settle(self) -> None: ...

    def close(self) -> None: ...


class Script:
    """The other end of a worker's connection, in its process's place."""

    def __init__(self, theirs: socket.socket) -> None:
        self._theirs = theirs

    def number(self) -> int:
        return 0  # no process has it

    def dump_stack(self) -> None: ...

    def has_ended(self, _seconds: float) -> bool:
        return False

    def kill(self) -> None:
        self._theirs.close()

    def wait(self) -> int:
        return -signal.SIGKILL


names = st.one_of(st.sampled_from(["x", "W_key.weight", *(each[:2000] for each in NASTY_TEXTS)]), st.text(max_size=5))
tensors = st.one_of(
    st.just(TENSOR),
    st.builds(
        protocol.TensorValue,
        dtype=st.sampled_from([*TORCH_DTYPES, "complex64", "\x1b[31m"]),
        shape=st.lists(st.sampled_from([0, 1, 2, 3, 4, 2**31, 2**40]), max_size=66),
        data=st.sampled_from([0, 1, 4, 8, 16, 64, 96]).flatmap(lambda size: st.binary(min_size=size, max_size=size)),
    ),
    st.builds(
        lambda values, dtype: from_python(torch.tensor(values).to(dtype)),
        st.lists(st.floats(width=32), max_size=3).map(lambda each: [[each] * 3] * 2) | st.floats(width=32),
        st.sampled_from([torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16]),
    ),
)
scalars = leaves.filter(lambda each: not isinstance(each, list | dict)).map(
    lambda each: protocol.Scalar(value=each[:2000] if isinstance(each, str) else each)
)
values = st.recursive(
    st.one_of(tensors, scalars, st.builds(protocol.Other, description=names)),
    lambda inner: st.one_of(
        st.builds(protocol.Sequence, items=st.lists(inner, max_size=3), is_tuple=st.booleans()),
        st.builds(protocol.Sequence, items=inner.map(lambda each: [each] * 900), is_tuple=st.booleans()),
        st.builds(protocol.Mapping, items=st.dictionaries(names, inner, max_size=3)),
    ),
    max_leaves=6,
)
gradients = st.dictionaries(names, st.none() | tensors, max_size=3)
numbers = st.sampled_from([-(2**63), -1, 0, 1, 30, 2**63 - 1])
raised = st.builds(
    protocol.Raised,
    type=names,
    bases=st.lists(names, max_size=3),
    text=names
    | st.sampled_from(["[Errno 27] File too large", "DefaultCPUAllocator: can't allocate memory: you tried"]),
    location=st.none() | st.builds(protocol.Location, label=names, line=numbers, text=names, column=numbers),
)
STAGES = (
    (
        LOADED,
        st.builds(
            protocol.Loaded,
            classes=st.lists(names, max_size=3),
            entry_found=st.booleans(),
            entry_is_module=st.booleans(),
            trees=st.just({}),
            tolerated=st.none() | raised,
        ),
    ),
    (
        BUILDS,
        st.builds(
            protocol.Built,
            parameters=st.dictionaries(names, st.lists(numbers.filter(lambda each: each >= 0), max_size=4), max_size=3),
            misfits=st.lists(st.builds(protocol.Misfit, name=names, expected=st.just([1])), max_size=3),
        ),
    ),
    (
        RETURNED,
        st.builds(
            protocol.Returned,
            value=values,
            inputs=st.just({"x": TENSOR}) | st.dictionaries(names, tensors, max_size=2),
            parameter_gradients=gradients,
            input_gradients=gradients,
            changed=names,
        ),
    ),
    (
        RETURNED,
        st.builds(
            protocol.Returned,
            value=values,
            inputs=st.just({"x": TENSOR}),
            parameter_gradients=gradients,
            input_gradients=gradients,
        ),
    ),
)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[bytes], Any]:
    """The replies of a worker from loading to a check's last call, one of them changed."""
    index = draw(st.integers(0, 3))
    script: list[protocol.Message] = [LOADED, BUILDS, RETURNED[index], RETURNED[index]]
    replies = [framed(msgspec.msgpack.encode(each)) for each in script]
    place = draw(st.sampled_from([0, 1, 2, 2, 2, 3, 3]))
    reply, sound = STAGES[place]
    odd = frames(reply if isinstance(reply, tuple) else (reply, RAISED))
    strange = st.one_of(sound, sound, raised).map(lambda each: framed(msgspec.msgpack.encode(each)))
    replies[place] = draw(st.one_of(odd, strange, strange, strange))
    return replies, VALUES[index]


@fuzzing
@given(conversations())
def test_any_reply_of_a_worker_becomes_an_outcome_that_can_be_shown(conversation):
    script, expected = conversation
    exercise = load_exercise(COURSE.description(EXERCISE))
    submission = Submission(name="a.py", chunks=())
    session = Session(Scripted(script), exercise, submission)
    outcomes, unloadable = [], None
    with within_bounds():
        try:
            unloadable = missing_entry(session.load(), submission, exercise)
        except SubjectError as error:
            unloadable = load_finding(error, exercise.limits)
        error = None
        try:
            if unloadable is None:
                check(session, expected)
        except Exception as raised:  # noqa: BLE001 - as the runner catches it
            error = raised
        finally:
            session.close()
        outcomes.append(outcome_of_error("a_check", error, 0.1, exercise.limits))
        shown(exercise, outcomes, unloadable)


def check(session: Session, expected: Any) -> None:
    """The calls that checks make."""
    module = SubjectFactory(session)(input_dim=4)
    module.weights()
    compare(module(x=OUTPUT), expected, "the output")
    seen = module.differentiate([OUTPUT], x=OUTPUT)
    assert list(module.inputs_after()) == ["x"]
    flatten(seen.value)
    for name, gradient in (seen.parameters | seen.inputs).items():
        compare_gradient(gradient, OUTPUT, name)


def shown(exercise: Any, outcomes: list[Outcome], unloadable: Finding | None) -> None:
    """Render the outcome, and require that it contains only visible text."""
    seen = Examination(outcomes=outcomes, unloadable=unloadable)
    exercise = msgspec.structs.replace(exercise, defects=[])
    key = Key(digest="", signatures={"": {}}, methods={})
    verdict = make_verdict(VariantComparison(exercise, key, seen), "attention.py", 1)
    json.loads(render_json(verdict))
    for text in (terminal_page(verdict, exercise), render_json(verdict)):
        assert not {each for each in text if each != "\n" and not each.isprintable()}
        assert len(text) < 20_000


# The reader of descriptions.

DESCRIPTIONS = tuple(COURSE.description(each).read_bytes() for each in COURSE.exercise_ids())

YAML_FRAGMENTS = (
    *(
        b"&a ",
        b"*a",
        b"&a [*a]",
        b"<<: *a",
        b"<<: {a: 1}\n",
        b"? ",
        b"---\n",
        b"...\n",
        b"%YAML 9.9\n---\n",
        b"|",
        b">-\n",
    ),
    *(
        b"!!python/object:os.system ",
        b"!!binary ",
        b"!<!> ",
        b"!!int ",
        b"\t",
        b"\xc2\x85",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
    ),
    *(
        b"[" * 3000,
        b"{" * 3000,
        b"- " * 3000,
        b"? " * 3000,
        b"!!a " * 3000,
        b"&a " * 3000,
        b"a: " * 3000,
        b'"',
        b"'",
        b"`",
    ),
    *(
        b"0x" + b"f" * 5000,
        b"0b" + b"1" * 20_000,
        b"9" * 5000,
        b"1_" * 3000,
        b"1:" * 3000,
        b"1e999",
        b".inf",
        b".nan",
        b"0o7",
    ),
    *(
        b"a" * 50_000,
        b"a: &x [b, b]\nb: &y [*x, *x, *x]\nc: [*y, *y, *y]\n",
        b"\x00",
        b"\\u0000",
        b"\xf4\x8f\xbf\xbf",
        b"____",
    ),
    *(
        b"\n" + b" " * 3000 + b"a",
        b"\n- a",
        b"\nchecks:\n",
        b"\n  id: x",
        b": ",
        b"#",
        b"\n" * 3000,
        b"2001-01-01",
        b"=",
        b"<<",
    ),
)


@st.composite
def descriptions(draw: st.DrawFn) -> bytes:
    """A real description with its parts or its bytes changed, or bytes that never were one."""
    content = draw(st.sampled_from(DESCRIPTIONS))
    match draw(st.sampled_from(["mutated", "mutated", "spoilt", "spoilt", "bytes"])):
        case "mutated":
            data = draw(mutated(PLAIN[content]))
            return yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=draw(st.booleans())).encode()
        case "spoilt":
            return draw(spoilt(content, YAML_FRAGMENTS))
    return draw(st.one_of(st.binary(max_size=100), spoilt(b"a: b\n", YAML_FRAGMENTS)))


PLAIN = {content: yaml.load(content, yaml.CSafeLoader) for content in DESCRIPTIONS}
REFERENCE = COURSE.reference_text(EXERCISE)


@fuzzing
@given(descriptions(), st.sampled_from([None, REFERENCE]))
def test_any_description_is_read_or_refused_with_its_problems(tmp_path_factory, content, reference):
    folder = tmp_path_factory.getbasetemp() / EXERCISE
    folder.mkdir(exist_ok=True)
    path = folder / "exercise.yaml"
    path.write_bytes(content)
    with within_bounds():
        told: list[str] = []
        try:
            exercise = read_exercise(path, reference)
        except SpecError as error:
            told = error.problems
        if told:
            assert all(0 < len(problem) < 5000 for problem in told)
            return
        assert len(list(exercise.subsets())) <= 2**8
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(exercise), type=type(exercise)) == exercise


# The readers of notebooks and modules.

NOTEBOOKS = tuple(COURSE.editable_files(each)[1].read_bytes() for each in COURSE.exercise_ids())
MODULES = tuple(COURSE.editable_files(each)[0].read_bytes() for each in COURSE.exercise_ids())

JSON_FRAGMENTS = (
    *(
        b"[" * 3000,
        b'{"a":' * 3000,
        b"]" * 100,
        b'"',
        b"\\",
        b'"\\ud800"',
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"9" * 5000,
        b"0x1",
    ),
    *(
        b"%",
        b"%%bash\\n",
        b"!ls \\\\\\n",
        b"?",
        b"'''",
        b'\\"\\"\\"',
        b"(",
        b"#",
        b"\\u0000",
        b"\\r\\n",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
    ),
    *(
        b'"nbformat": 5,',
        b'"cells": 1,',
        b'"source": [1],',
        b'"metadata": {"tags": ["demonstration"]},',
        b"\x00",
        b",",
        b":",
        b"{}",
    ),
)
PYTHON_FRAGMENTS = (
    *(
        b"# coding: latin-1\n",
        b"# coding: punycode\n",
        b"# -*- coding: utf-7 -*-\n",
        b"# coding: utf-16\n",
        b"# coding: rot13\n",
    ),
    *(
        b"# coding: unicode_escape\n",
        b"# coding: " + b"x" * 5000,
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\x00",
        b"\r",
        b"\x0c",
        b"\x1a",
    ),
)


@st.composite
def notebooks(draw: st.DrawFn) -> bytes:
    content = draw(st.sampled_from(NOTEBOOKS))
    match draw(st.sampled_from(["mutated", "mutated", "spoilt", "spoilt", "bytes"])):
        case "mutated":
            return json.dumps(draw(mutated(json.loads(content))), ensure_ascii=draw(st.booleans())).encode()
        case "spoilt":
            return draw(spoilt(content, JSON_FRAGMENTS))
    return draw(st.one_of(st.binary(max_size=100), spoilt(b'{"nbformat": 4}', JSON_FRAGMENTS)))


def is_fit_to_be_judged(read: Submission | Unreadable) -> bool:
    """Whether it is a sentence, or source in lines that a worker can be sent."""
    if isinstance(read, Unreadable):
        return 0 < len(read.reason) < 1000
    return all("\r" not in chunk.text for chunk in read.chunks) and len(read.digest()) == 64


@fuzzing
@given(notebooks())
def test_any_notebook_becomes_a_submission_or_a_sentence(content):
    with within_bounds():
        assert is_fit_to_be_judged(from_notebook(content, "attention.ipynb"))


@fuzzing
@given(
    st.one_of(st.sampled_from(MODULES).flatmap(lambda each: spoilt(each, PYTHON_FRAGMENTS)), st.binary(max_size=300))
)
def test_any_module_becomes_a_submission_or_a_sentence(content):
    with within_bounds():
        assert is_fit_to_be_judged(from_module(content, "attention.py"))


@fuzzing
@given(st.one_of(notebooks(), st.sampled_from(MODULES)), st.sampled_from(["a.py", "a.ipynb"]))
def test_what_a_file_becomes_can_be_sent_to_a_worker(tmp_path_factory, content, name):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    with within_bounds():
        read = read_submission(path, name)
        assert is_fit_to_be_judged(read)
        if isinstance(read, Submission):
            chunks = [protocol.Source(label=chunk.label, text=chunk.text) for chunk in read.chunks]
            assert (
                msgspec.msgpack.decode(
                    msgspec.msgpack.encode(protocol.Load(chunks=chunks, entry="A")), type=protocol.Load
                ).chunks
                == chunks
            )


NONE = msgspec.msgpack.encode(protocol.Scalar(value=None))
AMPLIFIERS = {
    "values": NONE,
    "empty lists": b"\x83\xa7message\xa8Sequence\xa8is_tuple\xc3\xa5items\x90",
    "empty mappings": b"\x82\xa7message\xa7Mapping\xa5items\x80",
    "mappings": b"\x82\xa7message\xa7Mapping\xa5items\x81\xa1a" + NONE,
    "texts": b"\x82\xa7message\xa6Scalar\xa5value\xa2\xc3\xbf",
    "tensors": b"\x84\xa7message\xabTensorValue\xa5dtype\xa4bool\xa5shape\x90\xa4data\xc4\x00",
}


def listed(parts: list[bytes]) -> bytes:
    head = b"\x83\xa7message\xa8Sequence\xa8is_tuple\xc3\xa5items\xdd" + struct.pack(">I", len(parts))
    return head + b"".join(parts)


@pytest.mark.parametrize("kind", AMPLIFIERS)
def test_a_reply_of_a_million_small_values_is_refused_before_they_are_made(kind):
    body = b"\x83\xa7message\xa8Returned\xa6inputs\x80\xa5value" + listed([listed([AMPLIFIERS[kind]] * 999)] * 999)
    assert len(body) < MAX_FRAME_BYTES
    ours, theirs = socket.socketpair()
    with ours, theirs, ThreadPoolExecutor(1) as pool:
        pool.submit(theirs.sendall, framed(body))
        tracemalloc.start()
        try:
            with pytest.raises(MalformedError, match="more than 50,000 values in one reply"):
                receive_reply(ours, time.monotonic() + SECONDS)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 3 * len(body)
