"""Files of every sort become a submission, or one sentence that says why not and what to do."""

import os
import struct
from pathlib import Path

import pytest

from grader.submission import (
    MAX_FILE_BYTES,
    MAX_SOURCE_BYTES,
    Chunk,
    Submission,
    Unreadable,
    read_submission,
    submission_from_text,
    why_too_large,
)
from tests.support.notebooks import code, markdown, notebook

with pytest.raises(UnicodeError) as _told:
    b"x".decode("undefined")
UNDEFINED = str(_told.value)
"""The message of this Python; it differs from 3.12 on."""


@pytest.fixture
def read(tmp_path):
    """The submission, or the reason, for a file with this content."""

    def read(content: bytes | str, name: str = "attention.py"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_submission(path, name)

    return read


@pytest.fixture
def cell(read):
    """The source that the grader compiles from a notebook's only code cell."""

    def cell(source: str) -> str:
        submission = read(notebook(code(source)), "attention.ipynb")
        assert isinstance(submission, Submission), submission
        (chunk,) = submission.chunks
        return chunk.text

    return cell


def test_a_module_is_one_chunk_under_its_own_name(read):
    assert read("x = 1\n") == Submission(name="attention.py", chunks=(Chunk(label="attention.py", text="x = 1\n"),))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"\xef\xbb\xbfx = 1\n", "x = 1\n", id="byte order mark"),
        pytest.param(b"x = 1\r\ny = 2\r\n", "x = 1\ny = 2\n", id="CRLF"),
        pytest.param(b"x = 1\ry = 2\r", "x = 1\ny = 2\n", id="CR"),
        pytest.param(b"# coding: latin-1\nx = '\xe9'\n", "# coding: latin-1\nx = 'é'\n", id="coding cookie"),
        pytest.param(b"#!py\n# vim: fileencoding=cp1252\n'\x80'", "#!py\n# vim: fileencoding=cp1252\n'€'", id="line 2"),
        pytest.param("x = 'π'".encode(), "x = 'π'", id="UTF-8"),
    ],
)
def test_a_module_is_decoded_as_python_would(read, content, text):
    assert read(content).chunks[0].text == text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty; save it again"),
        (b"\xef\xbb\xbf \n\t\r\n", "is empty; save it again"),
        (b"x = 1\n\ny = '\xe9'\n", "is not UTF-8 text (line 3); save it as UTF-8"),
        (b"y = '\xe9'\n", "is not UTF-8 text; save it as UTF-8"),
        (b"x = 1\0\n", "contains a NUL byte, so it is not Python source; save it again as UTF-8 text"),
        (
            b"# coding: klingon\n",
            "cannot be decoded (unknown encoding: klingon); remove its coding line and save it as UTF-8",
        ),
        (
            b"# coding: hex\n",
            "cannot be decoded ('hex' is not a text encoding); remove its coding line and save it as UTF-8",
        ),
        (
            b"# coding: undefined\n",
            f"cannot be decoded ({UNDEFINED}); remove its coding line and save it as UTF-8",
        ),
        (
            b"# coding: unicode_escape\nx = '\\ud800'\n",
            "contains half a character (a lone surrogate); delete it and save again",
        ),
    ],
)
def test_a_module_that_is_not_text_is_refused_with_the_next_step(read, content, sentence):
    assert read(content).reason == f"attention.py {sentence}"


def test_paths_that_lead_to_no_file_are_refused_with_the_next_step(tmp_path):
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("x = 1\n")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    expected = {
        "missing.py": "there is no file missing.py; check the path",
        "folder.py": "folder.py is a directory; name the file in it",
        "folder": "folder is a directory; name the file in it",
        "notes.txt": "notes.txt is neither a .py nor a .ipynb file; hand in one of these",
        "pipe.py": "pipe.py is not a regular file; hand in a .py or .ipynb file",
        "loop.py": "loop.py cannot be opened: Too many levels of symbolic links; check its permissions",
    }
    assert {name: read_submission(tmp_path / name, name).reason for name in expected} == expected
    assert read_submission(Path("/dev/null"), "null").reason.startswith("null is neither a .py nor a .ipynb file; ")


def test_a_file_of_any_size_is_read_no_further_than_the_limit(tmp_path):
    path = tmp_path / "attention.py"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a sparse terabyte
    sentence = f"attention.py is larger than {MAX_FILE_BYTES:,} bytes; clear its outputs, or hand in the source alone"
    assert read_submission(path, "attention.py") == Unreadable(reason=sentence)


def test_source_over_the_limit_is_refused_and_text_between_code_cells_does_not_count(read):
    assert why_too_large(submission_from_text("é" * (MAX_SOURCE_BYTES // 2))) is None
    refused = why_too_large(submission_from_text("é" * (MAX_SOURCE_BYTES // 2) + "x"))
    assert refused.reason == (
        f"attention.py has {MAX_SOURCE_BYTES + 1:,} bytes of source, and at most {MAX_SOURCE_BYTES:,} are graded; "
        "remove data and code that the exercise does not need"
    )
    long_text = notebook(markdown("x" * (MAX_SOURCE_BYTES + 1)), code("x = 1"))
    assert isinstance(read(long_text, "attention.ipynb"), Submission)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("class", " is not JSON, so it is not a notebook; save it again from Jupyter, or hand in the .py file"),
        ("[" * 101, " is nested more than 100 levels deep; clear its outputs, or hand in the source alone"),
        ("[" * 100, " is not JSON, so it is not a notebook; save it again from Jupyter, or hand in the .py file"),
        ("[]", " is JSON, but not a notebook; hand in the file that Jupyter saved, or the .py file"),
        ('{"cells": []}', " is JSON, but not a notebook; hand in the file that Jupyter saved, or the .py file"),
        (struct.pack("<3I", 1, 2, 0xFFFFFFFF), " is not UTF-8 text; save the notebook again from Jupyter"),
        (
            '{"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}',
            " is a notebook of format 3; open it in Jupyter and save it again (format 4)",
        ),
        (
            '{"nbformat": 4, "nbformat_minor": "5", "metadata": {}, "cells": []}',
            " is not a valid notebook (Expected `int`, got `str` - at `$.nbformat_minor`); save it again from Jupyter",
        ),
        (
            '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code"}]}',
            " is not a valid notebook (Object missing required field `metadata` - at `$.cells[0]`); \
save it again from Jupyter",
        ),
        (notebook(markdown("# Story")), " has no code cell to grade; put your code into one"),
        (notebook(code("x", tags=["demonstration"]), code(" ")), " has no code cell to grade; put your code into one"),
        (
            notebook(code("x = 1"), code("y = '\0'")),
            ", code cell 2 contains a NUL byte, so it is not Python source; save it again as UTF-8 text",
        ),
        (
            notebook(code("y = '\ud800'")),
            ", code cell 1 contains half a character (a lone surrogate); delete it and save again",
        ),
    ],
)
def test_an_invalid_notebook_is_refused_with_the_next_step(read, content, sentence):
    assert read(content, "attention.ipynb") == Unreadable(reason=f"attention.ipynb{sentence}")


def test_code_cells_are_numbered_as_they_stand_and_demonstrations_left_out(read):
    demonstration = code("show(x)", tags=["demonstration"])
    cells = [markdown("# Story"), code("x = 1\r\ny = 2"), demonstration, markdown("!"), code("z = 3")]
    chunks = (Chunk(label="code cell 1", text="x = 1\ny = 2"), Chunk(label="code cell 3", text="z = 3"))
    assert read(notebook(*cells), "attention.ipynb") == Submission(name="attention.ipynb", chunks=chunks)


def test_outputs_and_execution_order_do_not_count(read):
    plain = read(notebook(code("x = 1"), code("y = 2")), "attention.ipynb")
    image = {"output_type": "display_data", "data": {"image/png": "aGk="}, "metadata": {}}
    run = notebook(code("x = 1", count=9, outputs=[image]), code("y = 2", count=4))
    assert read(run, "attention.ipynb") == plain


def test_notebooks_without_cell_ids_or_with_one_twice_are_read_without_a_warning(read, recwarn):
    for cells in ([code("x = 1", id=None)], [code("x = 1", id="a"), code("y = 1", id="a")]):
        assert len(read(notebook(*cells), "attention.ipynb").chunks) == len(cells)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("source", "compiled"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install torch\nx = 1", "pass\nx = 1"),
        ("?torch.triu\ntorch.triu?\ntorch.triu??\nx = 1", "pass\npass\npass\nx = 1"),
        ("%time it's an \"unbalanced ( line\nx = 1", "pass\nx = 1"),
        ("if True:\n    !ls (\n    x = 1", "if True:\n    pass\n    x = 1"),
        ("files = !ls\nspent = %timeit f()\nself.a, b = !ls", "files = None\nspent = None\nself.a, b = None"),
        ("!pip install \\\n    torch \\\n    numpy\nx = 1", "pass\n\n\nx = 1"),
        ("%%time\nx = 1", "pass\nx = 1"),
        ("\n%%capture output\nx = 1", "\npass\nx = 1"),
        ("%%bash\nrm -rf it's\nls", "\n\n"),
        ("%%\nx", "\n"),
    ],
)
def test_magics_shell_lines_and_help_requests_are_not_run(cell, source, compiled):
    assert cell(source) == compiled
    compile(compiled, "cell", "exec")


@pytest.mark.parametrize(
    "source",
    [
        "x = (17\n% 5)",
        "x = 17 \\\n% 5",
        "x = [\n    17\n    % 5,\n]\n",
        'x = """\n!not a shell line\n%not a magic\nreally?\n"""',
        'class A:\n    """What does it do?\n\n    !important\n    %s and done"""\n    x = 1',
        '"""Why\n% so"""\nx = 1',
        "x = 1  # really?",
        "# really?\n# !ls\nx = 1",
        "print('what', end='?')  # x?",
        "x = 5 % 3 != 1\nassert x != '!' and '%'",
        "def f(\n    a,\n    b,\n):  # why?\n    return a % b  # why?",
        "x: int = 1\n\n\n# what now?\ny = x\\\n    % 2",
    ],
)
def test_python_that_looks_like_a_magic_is_left_as_it_is(cell, source):
    assert cell(source) == source


def test_a_cell_with_a_syntax_error_keeps_its_lines(cell):
    assert cell("%time\nx = (\n!ls\ny = ") == "pass\nx = (\n!ls\ny = "
