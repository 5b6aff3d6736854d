"""A file handed in -> Submission: text in chunks whose lines are the lines the student sees. Never executed here."""

import hashlib
import json
import os
import re
import stat
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

DEMONSTRATION = "demonstration"
"""The tag of notebook cells that are for looking at and are not run by the grader."""

PYTHON_CELL_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
"""Cell magics whose body is ordinary Python."""


MAGIC_LINE = re.compile(r"\s*([%!?]|[\w.*]+\?{1,2}\s*$)")
"""A line magic, a shell line, or a request for help before or after a name."""

MAGIC_ASSIGNMENT = re.compile(r"(\s*[\w., ]+=\s*)[%!]")
"""What a magic or a shell line is assigned to."""

CODING_COOKIE = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:[^\n]*\n)?[ \t\f]*#[^\n]*coding[:=]")
NOTEBOOK_FORMAT = 4

MAX_FILE_BYTES = 16_000_000
"""A file larger than this, outputs of a notebook included, is not read."""


class Chunk(Struct, frozen=True):
    """A stretch of source that is compiled on its own: a module, or one code cell."""

    label: str
    text: str


class Submission(Struct, frozen=True):
    """What is judged: where it came from and its source."""

    name: str
    chunks: tuple[Chunk, ...]

    def digest(self) -> str:
        """A fingerprint of the source."""
        digest = hashlib.sha256()
        for chunk in self.chunks:
            digest.update(chunk.text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()


class Unreadable(Struct, frozen=True):
    """Why a file cannot be judged: one sentence, and the next step."""

    reason: str


def read_submission(path: Path, name: str) -> Submission | Unreadable:
    """The submission in a `.py` or `.ipynb` file, or why there is none."""
    content = _read_bytes(path, name, MAX_FILE_BYTES)
    if isinstance(content, Unreadable):
        return content
    submission = _from_notebook(content, name) if path.suffix == ".ipynb" else _from_module(content, name)
    if isinstance(submission, Submission):
        return _why_no_source(submission) or submission
    return submission


def exceeds(submission: Submission, max_bytes: int) -> Unreadable | None:
    """Why the submission is too large, if it is larger than `max_bytes`."""
    size = sum(len(chunk.text.encode("utf-8", "surrogatepass")) for chunk in submission.chunks)
    if size <= max_bytes:
        return None
    return Unreadable(f"{submission.name} holds {size:,} bytes of source; {max_bytes:,} are allowed")


def submission_from_text(source: str, name: str = "attention.py") -> Submission:
    """A submission that is already text."""
    return Submission(name, (Chunk(name, source),))


def _why_no_source(submission: Submission) -> Unreadable | None:
    """Why the text cannot be Python source, whatever it says."""
    for chunk in submission.chunks:
        place = chunk.label if chunk.label == submission.name else f"{submission.name}, {chunk.label}"
        if "\0" in chunk.text:
            return Unreadable(f"{place} holds a NUL byte, so it is not Python source; save it again as UTF-8 text")
        if any("\ud800" <= character <= "\udfff" for character in chunk.text):
            return Unreadable(f"{place} holds half a character (a lone surrogate); delete it and save again")
    return None


def _read_bytes(path: Path, name: str, max_bytes: int) -> bytes | Unreadable:
    """The file's content, opened without blocking on a pipe or a device, read once."""
    if path.is_dir():
        return Unreadable(f"{name} is a directory; name the file in it")
    if path.suffix not in (".py", ".ipynb"):
        return Unreadable(f"{name} is neither a .py nor a .ipynb file; hand in one of these")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return Unreadable(f"there is no file {name}; check the path, or run `reset` to get the starter back")
    except OSError as error:
        return Unreadable(f"{name} cannot be opened: {error.strerror}; check its permissions")
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Unreadable(f"{name} is not an ordinary file; hand in a .py or .ipynb file")
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        return Unreadable(f"{name} is larger than {max_bytes:,} bytes; clear its outputs, or hand in the source alone")
    if not content.strip(b" \t\r\n\f\xef\xbb\xbf"):
        return Unreadable(f"{name} is empty; run `reset` to get the starter back")
    return content


def _from_module(content: bytes, name: str) -> Submission | Unreadable:
    """A module's text; a byte order mark, a coding cookie and any line ending are honoured."""
    lines = iter(content.splitlines(keepends=True))
    try:
        encoding, _ = tokenize.detect_encoding(lambda: next(lines, b""))
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Unreadable(f"{name} is not {error.encoding.upper()} text (line {line}); save it as UTF-8")
    except (SyntaxError, LookupError, UnicodeError) as error:
        if not CODING_COOKIE.search(content):
            return Unreadable(f"{name} is not UTF-8 text; save it as UTF-8")
        problem = str(error).split(";", 1)[0]
        return Unreadable(f"{name} cannot be decoded ({problem}); drop its coding line and save it as UTF-8")
    return Submission(name, (Chunk(name, _unix_lines(text)),))


def _from_notebook(content: bytes, name: str) -> Submission | Unreadable:
    """A notebook's code cells, in the order they stand; outputs and execution counts are ignored."""
    try:
        text = content.decode("utf-8-sig")
        data = json.loads(text)
    except UnicodeDecodeError:
        return Unreadable(f"{name} is not UTF-8 text; save the notebook again from Jupyter")
    except (ValueError, RecursionError):
        return Unreadable(f"{name} is not JSON, so no notebook; save it again from Jupyter, or hand in the .py file")
    version = data.get("nbformat") if isinstance(data, dict) else None
    if not isinstance(version, int):
        return Unreadable(f"{name} is JSON, but no notebook; hand in what Jupyter saved, or the .py file")
    if version != NOTEBOOK_FORMAT:
        return Unreadable(f"{name} is a notebook of format {version}; open it in Jupyter and save it again (format 4)")
    notebook = _valid_notebook(text)
    if isinstance(notebook, str):
        return Unreadable(f"{name} is not a valid notebook ({notebook}); save it again from Jupyter")
    chunks = tuple(_code_cells(notebook))
    if not chunks:
        return Unreadable(f"{name} has no code cell to grade; put your class into one")
    return Submission(name, chunks)


def _valid_notebook(text: str) -> Any:
    """The notebook, or a few words on what is wrong with it."""
    import nbformat  # a tenth of a second that module submissions need not pay

    try:
        with warnings.catch_warnings(action="ignore"):  # on cells without ids, or with the same one twice
            read: Any = nbformat.reader.reads
            notebook = read(text)
            nbformat.validate(notebook)
    except (nbformat.ValidationError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        return str(getattr(error, "message", error)).split("\n", 1)[0][:120] or "its version is not a number"
    return notebook


def _code_cells(notebook: Any) -> Iterator[Chunk]:
    number = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        number += 1
        if cell.source.strip() and DEMONSTRATION not in cell.metadata.get("tags", []):
            yield Chunk(f"code cell {number}", _without_magics(_unix_lines(cell.source)))


def _unix_lines(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _without_magics(source: str) -> str:
    """The cell with magics, shell lines and help requests made `pass`; line numbers stay."""
    first = source.lstrip().split("\n", 1)[0]
    if first.startswith("%%") and first.split()[0] not in PYTHON_CELL_MAGICS:
        return "\n" * source.count("\n")
    reader = _MagicReader(source.split("\n"))
    try:
        for token in tokenize.generate_tokens(reader):
            if token.type == tokenize.NEWLINE:
                reader.is_at_statement = True
    except (tokenize.TokenError, SyntaxError):
        pass  # the worker's compiler will say what is wrong, at the same line
    return "\n".join(reader.lines)


class _MagicReader:
    """Feeds a tokenizer line by line, so that only what begins a statement is taken for a magic."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.position = 0
        self.is_at_statement = True

    def __call__(self) -> str:
        if self.position >= len(self.lines):
            return ""
        if self.is_at_statement:
            self._replace_magic()
        line = self.lines[self.position]
        self.position += 1
        if line.strip() and not line.lstrip().startswith("#"):
            self.is_at_statement = False  # until the tokenizer says that the statement is over
        return line + "\n"

    def _replace_magic(self) -> None:
        """Make the line harmless where it is a magic, with the lines it goes on in."""
        line = self.lines[self.position]
        assignment = MAGIC_ASSIGNMENT.match(line)
        if assignment:
            harmless = f"{assignment[1]}None"
        elif MAGIC_LINE.match(line):
            harmless = line[: len(line) - len(line.lstrip())] + "pass"
        else:
            return
        last = self.position
        while self.lines[last].endswith("\\") and last + 1 < len(self.lines):
            last += 1
        self.lines[self.position : last + 1] = [harmless] + [""] * (last - self.position)
