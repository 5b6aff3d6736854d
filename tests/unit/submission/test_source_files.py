"""A submitted file is read without following links or blocking, in bounded time and memory."""

import encodings.aliases
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time

import pytest

from grader.submission import Submission, read_submission
from grader.submission import reading as source_file
from grader.submission.submission import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    MAX_SOURCE_BYTES,
    MAX_VALUES,
    Unreadable,
    without_magics,
)
from tests.support.sampling import others_slow

SECONDS = 10.0
"""What no file may take, on a machine that is busy with other things; measured: 1.3 s at most."""

MEGABYTES = 300
"""What no file of `MAX_FILE_BYTES` may take beyond itself; measured: 209 at most."""

LINK = "is a link, or in a linked folder; hand in the file itself"


@pytest.fixture
def inbox(tmp_path):
    """A folder of submissions, beside a file outside of it."""
    (tmp_path / "secret.py").write_text("token = 1\n")
    (tmp_path / "inbox" / "alice" / "exercise_03").mkdir(parents=True)
    (tmp_path / "inbox" / "alice" / "exercise_03" / "attention.py").write_text("x = 1\n")
    return tmp_path / "inbox"


def test_a_file_below_the_folder_is_read_and_the_folder_itself_may_be_a_link(inbox):
    (inbox.parent / "short").symlink_to(inbox)
    for folder in (inbox, inbox.parent / "short"):
        path = folder / "alice" / "exercise_03" / "attention.py"
        assert isinstance(read_submission(path, path.name, inside=folder), Submission)


@pytest.mark.parametrize("target", ["../../../secret.py", "/etc/hostname", "attention.py", "missing.py"])
def test_a_file_that_was_handed_in_may_not_be_a_link_and_ones_own_may(inbox, target):
    link = inbox / "alice" / "exercise_03" / "link.py"
    link.symlink_to(target)
    assert read_submission(link, "link.py", inside=inbox) == Unreadable(reason=f"link.py {LINK}")
    if target in ("../../../secret.py", "attention.py"):
        assert isinstance(read_submission(link, "link.py"), Submission)


def test_no_folder_on_the_way_to_it_may_be_a_link_either(inbox):
    (inbox.parent / "elsewhere").mkdir()
    (inbox.parent / "elsewhere" / "attention.py").write_text("x = 1\n")
    (inbox / "bob").symlink_to(inbox.parent / "elsewhere")
    (inbox / "carol").mkdir()
    (inbox / "carol" / "exercise_03").symlink_to("../alice/exercise_03")
    for path in (
        inbox / "bob" / "attention.py",
        inbox / "carol" / "exercise_03" / "attention.py",
        inbox / ".." / "secret.py",
        inbox / "alice" / ".." / ".." / "secret.py",
    ):
        assert read_submission(path, "a.py", inside=inbox) == Unreadable(reason=f"a.py {LINK}"), path


def test_below_the_folder_too_what_is_no_file_is_refused_with_the_next_step(inbox):
    folder = inbox / "alice"
    os.mkfifo(folder / "pipe.py")
    (folder / "folder.py").mkdir()
    (folder / "file").write_text("")
    expected = {
        "missing.py": "there is no file missing.py; check the path",
        "gone/attention.py": "there is no file gone/attention.py; check the path",
        "file/attention.py": "file/attention.py cannot be opened: Not a directory; check its permissions",
        "folder.py": "folder.py is a directory; name the file in it",
        "pipe.py": "pipe.py is not a regular file; hand in a .py or .ipynb file",
        "notes.txt": "notes.txt is neither a .py nor a .ipynb file; hand in one of these",
    }
    assert {name: read_submission(folder / name, name, inside=inbox).reason for name in expected} == expected


def test_paths_that_the_system_refuses_are_refused_with_its_words(tmp_path):
    with pytest.raises(ValueError, match="null") as told:  # in the words of this Python
        os.open("nul\0.py", os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(tmp_path / "socket.py"))
        (tmp_path / "zero.py").symlink_to("/dev/zero")
        (tmp_path / "process.py").symlink_to("/proc/self/status")
        expected = {
            "nul\0.py": f"cannot be opened: {told.value}; check its permissions",
            f"{'long' * 100}.py": "cannot be opened: File name too long; check its permissions",
            "socket.py": "cannot be opened: No such device or address; check its permissions",
            "zero.py": "is not a regular file; hand in a .py or .ipynb file",
            "process.py": "changes while it is being read; wait until it is saved and grade it again",
        }
        for name, sentence in expected.items():
            assert read_submission(tmp_path / name, "it").reason == f"it {sentence}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file, so no file is unreadable")
def test_a_folder_that_cannot_be_entered_is_reported(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o000)
    refused = read_submission(tmp_path / "closed" / "attention.py", "attention.py")
    assert refused == Unreadable(reason="attention.py cannot be opened: Permission denied; check its permissions")


def test_a_file_that_keeps_changing_is_refused_and_one_that_has_been_saved_is_read_whole(tmp_path, monkeypatch):
    path = tmp_path / "attention.py"
    path.write_text("x = 1\n" * 1000)
    read = source_file._read_up_to
    changes = iter(range(100))

    def read_while_it_grows(descriptor, most):
        content = read(descriptor, most)
        if next(changes) < still_changing:
            with path.open("a") as file:
                file.write("x = 2\n")
        return content

    monkeypatch.setattr(source_file, "_read_up_to", read_while_it_grows)
    still_changing = 1
    assert len(read_submission(path, "a.py").chunks[0].text) == 6006
    still_changing = 100
    sentence = "a.py changes while it is being read; wait until it is saved and grade it again"
    assert read_submission(path, "a.py") == Unreadable(reason=sentence)


def test_a_file_that_others_write_and_delete_meanwhile_is_read_whole_or_refused(tmp_path):
    path = tmp_path / "attention.py"
    over = threading.Event()

    def meddle():
        while not over.is_set():
            path.write_text("x = 1\n" * 50_000)
            path.write_text("y = 2\n" * 90_000)
            path.unlink()

    meddler = threading.Thread(target=meddle)
    meddler.start()
    try:
        seen = [read_submission(path, "a.py") for _ in range(60)]
    finally:
        over.set()
        meddler.join()
    texts = {each.chunks[0].text for each in seen if isinstance(each, Submission)}
    assert all(set(text.splitlines()) in ({"x = 1"}, {"y = 2"}) for text in texts)


NOTEBOOK = '{"nbformat":4,"nbformat_minor":5,"metadata":{"x":%s},"cells":[%s]}'
CELL = '{"cell_type":"code","metadata":{},"source":%s}'
SIZE = MAX_FILE_BYTES - 100_000

HOSTILE_FILES = {
    "small lists": lambda: NOTEBOOK % (f"[{'[],' * (SIZE // 3)}0]", ""),
    "small objects": lambda: NOTEBOOK % ("[" + '{"a":{}},' * (MAX_VALUES // 3 - 2) + "0]", CELL % '"x"'),
    "objects with keys of their own": lambda: (
        NOTEBOOK % ("[" + ",".join(f'{{"{number}":0}}' for number in range(MAX_VALUES // 2 - 9)) + "]", CELL % '"x"')
    ),
    "empty texts": lambda: NOTEBOOK % ("[" + '"",' * (SIZE // 3) + "0]", ""),
    "texts in a source": lambda: NOTEBOOK % ("0", CELL % ("[" + '"%a\\n",' * (MAX_VALUES - 9) + '""]')),
    "quotes": lambda: '"' * SIZE,
    "escaped quotes that never end": lambda: '"' + '\\"' * (SIZE // 2),
    "brackets": lambda: "[" * SIZE,
    "closing brackets": lambda: "]" * SIZE,
    "a number": lambda: NOTEBOOK % ("1" * SIZE, ""),
    "a number after the point": lambda: NOTEBOOK % ("0." + "1" * SIZE, CELL % '"x"'),
    "escapes": lambda: NOTEBOOK % ('"' + "\\u1234" * (SIZE // 6) + '"', CELL % '"x"'),
    "cells": lambda: NOTEBOOK % ("0", ",".join([CELL % '"x"'] * (MAX_VALUES // 6))),
    "cells that are none": lambda: NOTEBOOK % ("0", ",".join(['{"cell_type":"code"}'] * (MAX_VALUES // 3))),
}

MEASURE = """
import resource, sys, time
from pathlib import Path
from grader.submission import read_submission
before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
read = read_submission(Path(sys.argv[1]), "a.ipynb")
seconds, peak = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, (peak - before) >> 10, repr(read)[:200])
"""


@pytest.mark.parametrize("kind", others_slow(HOSTILE_FILES))
def test_no_notebook_takes_more_than_its_bound_of_time_and_memory(kind, tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text(HOSTILE_FILES[kind](), encoding="utf-8")
    assert path.stat().st_size <= MAX_FILE_BYTES
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
    )
    assert done.stderr == ""
    seconds, megabytes, read = done.stdout.split(" ", 2)
    assert (float(seconds) < SECONDS, int(megabytes) < MEGABYTES) == (True, True), done.stdout
    assert read.startswith(("Submission(", "Unreadable("))


def test_an_exceeded_limit_of_a_notebook_is_named(tmp_path):
    path = tmp_path / "a.ipynb"
    expected = {
        NOTEBOOK % ("[" + "0," * MAX_VALUES + "0]", ""): f"has more than {MAX_VALUES:,} values; clear its outputs, or "
        "hand in the source alone",
        NOTEBOOK
        % ("[" * 99 + "]" * 99, ""): f"is nested more than {MAX_DEPTH} levels deep; clear its outputs, or hand "
        "in the source alone",
        NOTEBOOK
        % ("0", CELL % json.dumps("x" * (MAX_SOURCE_BYTES + 1))): f"has {MAX_SOURCE_BYTES + 1:,} bytes of source, and "
        f"at most {MAX_SOURCE_BYTES:,} are graded; remove data and code that the exercise does not need",
    }
    for text, sentence in expected.items():
        path.write_text(text)
        assert read_submission(path, "a.ipynb") == Unreadable(reason=f"a.ipynb {sentence}")
    path.write_text(NOTEBOOK % ("[" * 98 + '"[[[,{,"' + "]" * 98, CELL % '"x"'))
    assert isinstance(read_submission(path, "a.ipynb"), Submission)


def test_a_notebook_as_the_browser_writes_it_is_read_whatever_its_outputs_hold(tmp_path):
    path = tmp_path / "a.ipynb"
    outputs = (
        '[{"data":{"application/vnd.plotly.v1+json":{"y":[NaN,-Infinity],"text":"\\ud800"}},"output_type":"no such"}]'
    )
    cell = (
        CELL.replace('"metadata":{}', f'"metadata":{{"tags":7,"collapsed":true}},"outputs":{outputs}')
        % '["x = 1\\n","y"]'
    )
    path.write_text(NOTEBOOK % ("{}", cell))
    assert read_submission(path, "a.ipynb").chunks[0].text == "x = 1\ny"


@pytest.mark.parametrize(
    "unit",
    ["'\\", "%a\n", "x\n", "\n", "(]", "''(", "'''", '"""\\', "a ", "a.", "%a\\\n", " ", "#", "\\", "a?", "=!", "\f"],
)
def test_the_search_for_magics_takes_time_in_proportion_to_the_source(unit):
    for text in (unit * (1_000_000 // len(unit)), "%a\n" + unit * (1_000_000 // len(unit)) + "\n%"):
        started = time.process_time()
        kept = without_magics(text)
        assert time.process_time() - started < SECONDS
        assert kept.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "encoding", sorted({*encodings.aliases.aliases.values(), "idna", "punycode", "unicode_escape"})
)
def test_no_encoding_takes_more_than_its_bound_of_time(encoding, tmp_path):
    path = tmp_path / "a.py"
    for body in (b"a-" + b"4f" * 500_000, b"\\x41+AAA-~{\x1b$B" * 80_000, b"\xff\xfe\x81\x30" * 250_000):
        path.write_bytes(b"# coding: " + encoding.encode() + b"\n" + body)
        started = time.process_time()
        assert isinstance(read_submission(path, "a.py"), Submission | Unreadable)
        assert time.process_time() - started < SECONDS
